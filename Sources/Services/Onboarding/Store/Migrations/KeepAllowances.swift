extension OnboardingMigrations {
  /// A voice that could not be made anew does not count, and one whose job is lost gets another one a few times.
  static let keepAllowances = #"""
    alter table onboarding.voice add column recloned_before timestamptz;
    alter table onboarding.voice add column renewals integer not null default 0;
    create index voice_cloning on onboarding.voice (updated_at) where state = 'cloning';
    comment on column onboarding.voice.recloned_before is 'What recloned_at was before the voice that is being made: it comes back where that fails.';
    comment on column onboarding.voice.renewals is 'How often the voice that is being made got a job again, since the one before was gone.';
    """#
}
