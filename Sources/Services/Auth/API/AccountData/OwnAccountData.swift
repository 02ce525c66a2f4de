internal import AuthDomain
internal import AuthStore
internal import ParleyProvider
internal import RPC
internal import ServiceKit
internal import Values

/// What this service keeps of people, as every service hands it out, deletes and counts it: for the work of its own process. Over RPC
/// nobody asks this service for it, and nobody may.
struct OwnAccountData: AccountDataHolding {
  let store: AccountDataStore
  let apps: AppCatalogue
  /// How the broker's ledger knows people.
  let subjects: any SubjectHashing
  let now: @Sendable () -> Instant

  func export(of user: UUID, _ send: @escaping @Sendable (AccountDocumentPart) async throws -> Void) async throws {
    try await store.read(try await person(UserID(user))) { kind, rows in
      try await send(AccountDocumentPart("\(kind).jsonl", data: Array(rows.map { $0 + "\n" }.joined().utf8)))
    }
  }

  /// Only as the last part of a deletion that the person has asked for: another service that asks can take nobody's account away.
  func delete(of user: UUID, work: UUID) async throws -> [AccountDataCount] {
    let outcome = try await erase(UserID(user), AccountWorkID(work))
    guard case .done(let counts, _) = outcome else { throw Self.refusal(outcome) }
    return counts.map { AccountDataCount($0) }
  }

  private static func refusal(_ outcome: AccountDataStore.DeletionOutcome) -> RPCError {
    if case .refused(.notAsked) = outcome {
      return AccountDataRefusal.deletionNotAsked.rpcError("nobody has asked for this deletion")
    }
    return AccountDataRefusal.deletionNotDue.rpcError("other services have not done their parts yet")
  }

  /// As ``AccountDataStore/erase(_:work:at:)``, of whoever that is.
  // Inlined, the release build's optimizer (6.3.1) crashes on the two kinds of errors.
  @inline(never)
  func erase(_ user: UserID, _ work: AccountWorkID) async throws -> AccountDataStore.DeletionOutcome {
    let person = try await person(user)
    return try await store.erase(person, work: work, at: now())
  }

  func report(of user: UUID) async throws -> [AccountDataCount] {
    try await store.count(try await person(UserID(user))).map { AccountDataCount($0) }
  }

  /// The broker knows a person by the hash of Google's subject; its rows of an app's audiences are the account's.
  @inline(never)
  private func person(_ user: UserID) async throws -> AccountDataStore.Person {
    var person = AccountDataStore.Person(user, salt: subjects.givenSalt)
    for identity in try await store.identities(of: user) where identity.provider == .google {
      person.subjects.append(try await subjects.hash(identity.subject))
      person.audiences += apps[identity.app]?.google.audiences ?? []
    }
    return person
  }
}

extension AccountDataCount {
  init(_ count: AccountWork.Count) {
    self.init(count.kind, deleted: count.deleted, held: count.held, whyHeld: count.whyHeld)
  }
}

extension AccountWork.Count {
  init(_ count: AccountDataCount) {
    self.init(count.kind, deleted: count.deleted, held: count.held, whyHeld: count.whyHeld)
  }
}
