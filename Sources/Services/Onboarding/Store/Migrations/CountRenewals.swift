extension OnboardingMigrations {
  /// Submissions whose job died know how often they got another one, so that they are given up at last.
  static let countRenewals = #"""
    alter table onboarding.submission add column renewals integer not null default 0, add column renewed_at timestamptz;
    comment on column onboarding.submission.renewals is 'How often it got a job again whose work had not ended.';
    comment on column onboarding.submission.renewed_at is 'When it last did.';
    """#
}
