extension OnboardingMigrations {
  /// Submissions, and what happened to them, are kept for a while.
  static let retainSubmissions = #"""
    alter table onboarding.submission add column superseded_at timestamptz, add column course_pruned_at timestamptz;
    update onboarding.submission set superseded_at = (
      select min(newer.created_at) from onboarding.submission as newer
      where newer.user_id = submission.user_id and newer.number > submission.number);
    create index submission_superseded_at on onboarding.submission (superseded_at) where superseded_at is not null;
    create index submission_course on onboarding.submission (done_at) where done_at is not null and course_pruned_at is null;
    comment on column onboarding.submission.superseded_at is 'Since when there is a newer one of the person.';
    comment on column onboarding.submission.course_pruned_at is 'When its events were removed but for the end; null while they are there.';
    """#
}
