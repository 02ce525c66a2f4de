extension OnboardingMigrations {
  /// A label under which a voice was asked for more than once may have several, of which one is kept.
  static let doubtVoices = #"""
    alter table onboarding.expected_voice add column attempts integer not null default 1, add column kept_voice text;
    comment on column onboarding.expected_voice.attempts is 'How often the provider was asked under the label.';
    comment on column onboarding.expected_voice.kept_voice is 'The one voice of the label that is wanted; others are looked for, and deleted.';
    """#
}
