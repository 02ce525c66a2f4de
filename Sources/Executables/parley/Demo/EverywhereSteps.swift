import EventLoop
import Glibc
import JSON
import ParleyAPI
import PostgreSQL
import RPC

/// What one service is asked to forget, all others forget.
enum EverywhereSteps {
  static let all = [DemoStep("deletion at every service") { try await delete($0) }]

  /// Where something of a person may be, besides what the service counts itself.
  private struct Traces: Equatable {
    /// Rows of the onboarding service, whatever the table.
    var rows: Int
    /// Whether there is a folder of recordings.
    var hasRecordings: Bool
    /// Voices at the provider.
    var voices: Int

    static let none = Traces(rows: 0, hasRecordings: false, voices: 0)
  }

  /// Whoever has answered, spoken and got a voice deletes the account at the auth service alone.
  private static func delete(_ stage: DemoStage) async throws -> String {
    let tokens = try await SessionSteps.signIn(stage, "olga")
    let options = stage.options(tokens.accessToken)
    guard let profile = try await SessionSteps.auth(stage).getProfile(options: options).profile else {
      throw StepFailure(expected: "a profile", came: "none")
    }
    let before = try await traces(of: profile.userID, stage)
    guard before.rows > 0, before.hasRecordings, before.voices == 1 else {
      throw StepFailure(expected: "rows, recordings and a voice to delete", came: "\(before)")
    }
    let answer = try await AccountSteps.account(stage).deleteAccount(
      .init(idempotencyKey: "deletion-everywhere-\(stage.run)"), options: options)
    let work = try await AccountSteps.ended {
      try await AccountSteps.account(stage, at: 1).getDeletionReport(
        .init(receipt: answer.receipt), options: SessionSteps.stranger(stage)
      ).work
    }
    guard let part = work.steps.first(where: { $0.name == "service.onboarding" }), work.state == .done, part.isDone else {
      throw StepFailure(expected: "onboarding to have done its part", came: "\(work)")
    }
    let after = try await traces(of: profile.userID, stage)
    guard after == .none else { throw StepFailure(expected: "nothing of onboarding left", came: "\(after)") }
    let deleted = part.counts.map(\.deleted).reduce(0, +)
    return "the receipt counts \(deleted) things of onboarding's; of \(before.rows) rows, the recordings and the voice "
      + "at the provider nothing is left"
  }

  private static func traces(of user: String, _ stage: DemoStage) async throws -> Traces {
    // Every table with a column for people is asked, also one that a later release brings. But that the account was deleted is noted for
    // half an hour more, so that nothing comes late.
    let rows: Int? = try await stage.database.row(
      """
      select coalesce(sum(cast(cast((xpath('/row/count/text()', query_to_xml(
        format('select count(*) from onboarding.%I where user_id = %L', table_name, \(user)), false, true, '')))[1] as text) as bigint)),
        0)::bigint
      from information_schema.columns where table_schema = 'onboarding' and column_name = 'user_id'
        and table_name <> 'departure'
      """, deadline: .now().advanced(by: .seconds(5)))
    guard let rows else { throw StepFailure(expected: "a count", came: "no row") }
    let voices = try await stage.sandbox.voices().filter { $0["name"]?.string?.contains(user) == true }
    return Traces(
      rows: rows, hasRecordings: access("\(stage.places.recordings)/\(user)", F_OK) == 0, voices: voices.count)
  }
}
