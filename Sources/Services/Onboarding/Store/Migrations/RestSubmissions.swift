extension OnboardingMigrations {
  /// A provider may name a time before which it wants to be asked nothing more.
  static let restSubmissions = #"""
    alter table onboarding.submission add column rests_until timestamptz;
    comment on column onboarding.submission.rests_until is 'Until when what failed is not tried again by itself: a provider has named that time.';
    """#
}
