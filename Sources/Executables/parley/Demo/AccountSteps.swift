import EventLoop
import JOSE
import ParleyAPI
import RPC

/// All that is kept of a person: taken along, and deleted.
enum AccountSteps {
  static let all = [
    DemoStep("export of an account") { try await export($0) },
    DemoStep("deletion of an account") { try await delete($0) },
  ]

  static func account(_ stage: DemoStage, at copy: Int = 0) -> AccountService.Client {
    .init(stage.copies[copy % stage.copies.count])
  }

  private static func export(_ stage: DemoStage) async throws -> String {
    let tokens = try await SessionSteps.signIn(stage, "emma")
    let options = stage.options(tokens.accessToken)
    let begun = try await account(stage).startExport(.init(idempotencyKey: "export-of-run-\(stage.run)"), options: options)
    let work = try await ended {
      try await account(stage, at: 1).getAccountWork(.init(workID: begun.work?.id ?? ""), options: options).work
    }
    guard work.state == .done else { throw StepFailure(expected: "an export", came: "\(work.failure)") }
    let whole = try await download(stage, work.id, from: 0, options)
    // Broken off in the middle, it goes on at another copy.
    let middle = work.totalBytes / 2
    let rest = try await download(stage, work.id, from: middle, options)
    guard Int64(whole.bytes.count) == work.totalBytes, rest.bytes == Array(whole.bytes[Int(middle)...]), whole.hashesAreRight
    else {
      throw StepFailure(expected: "\(work.totalBytes) bytes with their hashes", came: "others")
    }
    guard String(decoding: whole.bytes, as: UTF8.self).contains("emma@example.org") else {
      throw StepFailure(expected: "the person's e-mail address", came: "none")
    }
    return "\(whole.documents) documents, \(work.totalBytes) bytes, hashes right; again from byte \(middle) at another copy"
  }

  private static func download(
    _ stage: DemoStage, _ id: String, from offset: Int64, _ options: CallOptions
  ) async throws -> (bytes: [UInt8], documents: Int, hashesAreRight: Bool) {
    try await account(stage, at: offset == 0 ? 0 : 1).downloadExport(.init(workID: id, offset: offset), options: options) {
      stream in
      var stream = stream
      var (bytes, document, documents, isRight): ([UInt8], [UInt8], Int, Bool) = ([], [], 0, true)
      while let part = try await stream.next() {
        bytes += Array(part.data)
        document += Array(part.data)
        guard let sha256 = part.sha256 else { continue }
        isRight = isRight && SHA256.digest(document) == Array(sha256)
        (document, documents) = ([], documents + 1)
      }
      return (bytes, documents, isRight)
    }
  }

  private static func delete(_ stage: DemoStage) async throws -> String {
    let tokens = try await SessionSteps.signIn(stage, "dora")
    let options = stage.options(tokens.accessToken)
    let profile = try await SessionSteps.auth(stage).getProfile(options: options).profile
    let answer = try await account(stage).deleteAccount(.init(idempotencyKey: "deletion-of-run-\(stage.run)"), options: options)
    // Every copy refuses the session within seconds, and says why.
    let end = MonotonicInstant.now().advanced(by: .seconds(5))
    var error: RPCError?
    while error == nil, MonotonicInstant.now() < end {
      error = try await refusal { _ = try await SessionSteps.auth(stage, at: 1).getProfile(options: options) }
      if error == nil { try await Task.sleep(for: .milliseconds(50)) }
    }
    guard let error, error.reason == "ACCOUNT_DELETED" else {
      throw StepFailure(expected: "ACCOUNT_DELETED within 5 s", came: error.map { "\($0)" } ?? "a profile")
    }
    let work = try await ended {
      try await account(stage, at: 1).getDeletionReport(
        .init(receipt: answer.receipt), options: SessionSteps.stranger(stage)
      ).work
    }
    let deleted = work.steps.flatMap(\.counts).map(\.deleted).reduce(0, +)
    guard work.state == .done, deleted >= 2 else { throw StepFailure(expected: "a deleted account", came: "\(work)") }
    let again = try await SessionSteps.signIn(stage, "dora")
    let next = try await SessionSteps.auth(stage).getProfile(options: stage.options(again.accessToken)).profile
    guard let next, next.userID != profile?.userID else { throw StepFailure(expected: "a new account", came: "the old one") }
    return "\(error.code.name) ACCOUNT_DELETED; the receipt says done, \(deleted) rows gone; a new sign-in is a new account"
  }

  /// Waits for the end of an export or a deletion.
  static func ended(_ ask: () async throws -> AccountWork?) async throws -> AccountWork {
    let end = MonotonicInstant.now().advanced(by: .seconds(30))
    while MonotonicInstant.now() < end {
      if let work = try await ask(), work.state != .running { return work }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw StepFailure(expected: "an end within 30 s", came: "none")
  }
}
