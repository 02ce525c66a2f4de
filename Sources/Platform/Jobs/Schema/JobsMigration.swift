/// The tables and functions of the queue, as steps of the migrations of the service that has it.
///
/// ```swift
/// Migration(1, "create_jobs", JobsMigration.create(schema: "onboarding", role: "parley_onboarding")),
/// Migration(2, "hold_jobs", JobsMigration.hold(schema: "onboarding", role: "parley_onboarding")),
/// ```
/// A service lists all of them, in this order. A text follows from its parameters alone, and a released one never changes: what
/// comes later is a step of its own.
public enum JobsMigration {
  /// The first form of the queue.
  ///
  /// - Parameters:
  ///   - schema: The schema of the service: lower-case letters, digits and `_`.
  ///   - role: The role that serves, which gets what it needs, if there is such a role.
  public static func create(schema: StaticString, role: StaticString) -> String {
    let (schema, role) = ("\(schema)", "\(role)")
    return [
      tables(schema), enqueueing(schema), running(schema), ending(schema), steps(schema), administration(schema),
      statistics(schema), grants(schema, role),
    ].joined(separator: "\n")
  }

  private static func grants(_ schema: String, _ role: String) -> String {
    #"""
    do $$
    begin
      if exists (select from pg_roles where rolname = '\#(role)') then
        grant select, insert, update, delete on \#(schema).job, \#(schema).job_step, \#(schema).dead_job, \#(schema).job_queue
          to \#(role);
      end if;
    end $$;
    """#
  }
}
