public import OnboardingDomain
public import PostgreSQL
public import Values

extension SubmissionStore {
  /// A submission with what there is to tell of it.
  public struct Course: Sendable, Hashable {
    /// The submission.
    public var submission: KeptSubmission
    /// The newest event; nil where there is none.
    public var event: SubmissionEvent?
    /// What did not go well, in the order of the steps.
    public var warnings: [SubmissionWarning]
  }

  /// The newest submission of a person with what there is to tell of it, and what something else asks for: in one round trip.
  ///
  /// - Parameters:
  ///   - user: The person.
  ///   - query: What else is asked for.
  ///   - type: What each row of that is.
  public func course<Row: RowDecodable>(
    of user: UUID, beside query: Query, as type: Row.Type
  ) async throws(DatabaseError) -> (rows: [Row], course: Course?) {
    let newest: Query = "(select id from onboarding.submission where user_id = \(user) order by number desc limit 1)"
    let found = try await database.reads.batch {
      $0.add(query)
      $0.add(Self.newest(of: user))
      $0.add(
        """
        select \(part: Self.event) from onboarding.submission_event as event
        where user_id = \(user) and submission_id = \(part: newest) order by sequence desc limit 1
        """)
      $0.add(
        """
        select submission_id, step, reason, message from onboarding.submission_warning
        where user_id = \(user) and submission_id = \(part: newest) order by step, reason
        """)
      $0.add("select \(part: newest)")
    }
    let rows = try found.rows(of: 0, as: type)
    guard let submission: KeptSubmission = try found.row(of: 1) else { return (rows, nil) }
    let warnings: [(UUID, Int32, String, String)] = try found.rows(of: 3)
    // Each statement sees what was there when it began: an event of a submission that came meanwhile is not this one's.
    let isSame = try found.value(of: 4, as: UUID.self) == submission.id
    let course = Course(
      submission: submission, event: isSame ? try found.row(of: 2) : nil,
      warnings: warnings.filter { $0.0 == submission.id }.map { SubmissionWarning(step: Int($0.1), $0.2, $0.3) })
    return (rows, course)
  }
}
