public import PostgreSQL

extension JobsMigration {
  /// What is declared of the tables of the queue.
  ///
  /// - Parameter hasSchedules: Whether the schema has had ``schedules(schema:role:)``.
  public static func tables(hasSchedules: Bool = false) -> [TableDeclaration] {
    let live = """
      id queue kind version priority attempt max_attempts run_lease holder due_at enqueued_at started_at steps progress_done \
      progress_total held
      """
    let dead = """
      id queue kind version priority attempt max_attempts run_lease enqueued_at steps progress_done progress_total died_at reason
      """
    let schedules = TableDeclaration(
      "job_schedule", bound: "one row for each schedule of the program", removedBy: [.nobody], after: "never",
      others: "name settled_until")
    return [
      TableDeclaration(
        "job", bound: "the work that waits or runs", removedBy: [.use, .deletion], after: "when it is done, or dead",
        personal: [
          "user_id" as TableDeclaration.PersonalColumn,
          .hidden("payload", inside, kept: "The jobs that end a deletion are nobody's, and name whose rests they remove."),
          .hidden("unique_key", inside, kept: "Likewise."), .hidden("progress_note", inside), .hidden("last_error", inside),
        ], others: live),
      TableDeclaration(
        "job_step", bound: "the jobs that there are, live and dead", removedBy: [.use, .deletion, .task("jobs")],
        after: "with its job", personal: [.hidden("result", inside)], others: "job_id name finished_at"),
      TableDeclaration(
        "dead_job", bound: "what fails for good", removedBy: [.task("jobs"), .deletion], after: "30 days (`jobs.deadRetention`)",
        personal: [
          "user_id" as TableDeclaration.PersonalColumn, .hidden("payload", inside), .hidden("unique_key", inside),
          .hidden("progress_note", inside), .hidden("last_error", inside),
        ], others: dead),
      TableDeclaration(
        "job_queue", bound: "the queues that an operator has paused", removedBy: [.use], after: "when it is resumed",
        others: "name paused_at paused_by"),
      TableDeclaration(
        "job_taker", bound: "one row for each kind of job of the program", removedBy: [.nobody], after: "never",
        others: "kind since"),
    ] + (hasSchedules ? [schedules] : [])
  }

  private static let inside = "What the program tells itself about work on what is handed out."
}
