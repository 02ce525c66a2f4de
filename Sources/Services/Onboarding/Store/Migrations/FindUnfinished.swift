extension OnboardingMigrations {
  /// What waits or failed is few among many: operators ask for it, and what waits for a provider is looked for again and again.
  static let findUnfinished = #"""
    create index submission_unfinished on onboarding.submission (user_id) where done_at is null or stage = 'failed';
    create index recording_unfinished on onboarding.recording (user_id) where state in ('pending', 'failed') or stored_at is null;
    create index identity_unfinished on onboarding.identity (user_id) where failure <> '';
    create index voice_unfinished on onboarding.voice (user_id) where state in ('cloning', 'failed', 'deleting');
    """#
}
