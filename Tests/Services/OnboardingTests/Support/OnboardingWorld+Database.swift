import AuthDomain
import EventLoop
import PostgreSQL
import TestParley
import Testing
import Values

/// What tests do behind the service's back.
extension OnboardingWorld {
  /// Does this to the database, one statement after the other.
  func execute(_ statements: [Query]) async throws {
    try await parley.withDatabase { database in
      for statement in statements { _ = try await database.execute(statement) }
    }
  }

  /// Has the database refuse an event (`insert`, `delete`) of a table's rows, as a defect would.
  ///
  /// - Parameters:
  ///   - event: What is refused.
  ///   - table: One of the service's, without its schema.
  ///   - condition: Which rows it is refused for.
  func refuse(_ event: Query, on table: Query, where condition: Query = "true") async throws {
    try await execute([
      "create function onboarding.refuse() returns trigger language plpgsql as $$ begin raise exception 'a defect'; end $$",
      """
      create trigger refuse before \(part: event) on onboarding.\(part: table) for each row when (\(part: condition))
        execute function onboarding.refuse()
      """,
    ])
  }

  /// Takes back what ``refuse(_:on:where:)`` did to a table.
  func allow(on table: Query) async throws { try await execute(["drop trigger refuse on onboarding.\(part: table)"]) }

  /// How many jobs there are that work on submissions, or would.
  func submissionJobs() async throws -> Int64? {
    try await value("select count(*) from onboarding.job where kind = 'onboarding.process'", as: Int64.self)
  }
}

extension TestUser {
  /// The account as the database has it.
  func databaseID() throws -> UUID {
    let id = UUID(userID.description)
    return try #require(id)
  }
}
