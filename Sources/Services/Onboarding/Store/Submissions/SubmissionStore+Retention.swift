public import PostgreSQL
public import Values

/// The end of submissions. The newest of a person stays as long as the account does, with its last two events: by them it is shown.
extension SubmissionStore {
  /// How many submissions a sweep takes at once: each has up to some hundred events.
  private static let batch: Int64 = 50

  /// Removes submissions that were superseded before `limit`, with their events and warnings.
  ///
  /// - Returns: How many submissions that were.
  public func sweepSuperseded(before limit: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      with old as materialized (
        select user_id, id from onboarding.submission where superseded_at < \(limit) and done_at is not null
        order by superseded_at limit \(Self.batch) for update skip locked
      ), events as (
        delete from onboarding.submission_event as event using old
        where event.user_id = old.user_id and event.submission_id = old.id
      ), warnings as (
        delete from onboarding.submission_warning as warning using old
        where warning.user_id = old.user_id and warning.submission_id = old.id
      )
      delete from onboarding.submission using old where submission.user_id = old.user_id and submission.id = old.id
      """, batch: Self.batch)
  }

  /// Removes the events of submissions on which work ended before `limit`, but for the end and what came before it.
  ///
  /// - Returns: Of how many submissions.
  public func sweepEvents(before limit: Instant, at now: Instant) async throws(DatabaseError) -> Int {
    try await database.sweep(
      """
      with old as materialized (
        select user_id, id from onboarding.submission where done_at < \(limit) and course_pruned_at is null
        order by done_at limit \(Self.batch) for update skip locked
      ), events as (
        delete from onboarding.submission_event as event using old
        where event.user_id = old.user_id and event.submission_id = old.id and event.sequence < (
          select max(last.sequence) - 1 from onboarding.submission_event as last
          where last.user_id = old.user_id and last.submission_id = old.id)
      )
      update onboarding.submission set course_pruned_at = \(now) from old
      where submission.user_id = old.user_id and submission.id = old.id
      """, batch: Self.batch)
  }
}
