extension OnboardingMigrations {
  /// Those who had a voice are known when they have none any more: the next one is made anew.
  static let rememberVoices = #"""
    alter table onboarding.voice add column made_at timestamptz;
    update onboarding.voice set made_at = updated_at where voice_id is not null or recloned_at is not null
      or exists (select from onboarding.unwanted_voice where unwanted_voice.user_id = voice.user_id);
    comment on column onboarding.voice.made_at is 'When the first voice of the person was made, whether it is still there or not.';
    """#
}
