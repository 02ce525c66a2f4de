import AuthDomain
import EventLoop
import JOSE
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestSupport

/// The auth service with other services that keep something of people.
struct AccountDataWorld: Sendable {
  static let identity = "spiffe://parley/auth"

  let database: BrokerDatabase
  let holders: [DemoHolder]

  /// A database, and other services of these names that are down.
  static func with(
    _ names: [String] = ["notes"], _ body: @escaping @Sendable (AccountDataWorld) async throws -> Void
  ) async throws {
    try await BrokerDatabase.with { database in
      let authority = TestAuthority()
      let own = authority.client(commonName: "auth", uris: [identity])
      for (name, bytes) in [
        ("data-ca", authority.certificate), ("data-cert", own.certificateChain), ("data-key", own.privateKey),
      ] { try BrokerFixture.write(bytes, to: "\(database.directory)/\(name).pem") }
      let holders = try names.map { try DemoHolder($0, in: database.directory, authority) }
      try await body(AccountDataWorld(database: database, holders: holders))
    }
  }

  /// Runs `body` while the auth service is up.
  func auth(
    clock: VirtualClock = VirtualClock(), _ settings: [String: String] = [:],
    _ body: @escaping @Sendable (BrokerFixture) async throws -> Void
  ) async throws {
    var changes = [
      "PARLEY_AUTH_ACCOUNT_DATA_CLIENT_CERTIFICATE": "\(database.directory)/data-cert.pem",
      "PARLEY_AUTH_ACCOUNT_DATA_CLIENT_KEY": "\(database.directory)/data-key.pem",
      "PARLEY_AUTH_OUTBOUND_CA_FILE": "\(database.directory)/data-ca.pem", "PARLEY_AUTH_JOBS_POLL": "20ms",
      // The clock is moved on while work goes on; that is not what a lease runs out by here.
      "PARLEY_AUTH_JOBS_LEASE": "600s",
      "PARLEY_AUTH_SIGN_IN_BURST": "1000",
    ]
    if !holders.isEmpty { changes["PARLEY_AUTH_ACCOUNT_DATA_SERVICES"] = holders.map(\.setting).joined(separator: ",") }
    try await BrokerFixture.with(database, clock: clock, settings: changes.merging(settings) { $1 }, body)
  }

  /// One database, all services up.
  static func running(
    _ names: [String] = ["notes"], _ settings: [String: String] = [:],
    _ body: @escaping @Sendable (BrokerFixture, AccountDataWorld) async throws -> Void
  ) async throws {
    try await with(names) { world in
      try await world.up(world.holders[...]) { try await world.auth(settings) { try await body($0, world) } }
    }
  }

  func up(_ rest: ArraySlice<DemoHolder>, _ body: @escaping @Sendable () async throws -> Void) async throws {
    guard let first = rest.first else { return try await body() }
    try await first.up { try await up(rest.dropFirst(), body) }
  }
}

extension BrokerFixture {
  static let keys = (0..<40).map { "an-idempotency-key-\($0)" }

  var account: AccountService.Client { AccountService.Client(channel) }

  /// Shows a token of Google's once more.
  func stepUp(_ access: String, as user: String = "ana") async throws(RPCError) -> ReauthenticateResponse {
    let nonce = try await nonce()
    return try await account.reauthenticate(
      .init(provider: .google, idToken: googleToken(user, nonce: nonce.providerNonce), nonce: nonce.nonce),
      options: from("192.0.2.1", access))
  }

  func startExport(_ access: String, _ key: String = keys[0]) async throws(RPCError) -> ParleyAPI.AccountWork {
    try await account.startExport(.init(idempotencyKey: key), options: from("192.0.2.1", access)).work ?? .init()
  }

  func deleteAccount(_ access: String, _ key: String = keys[0]) async throws(RPCError) -> DeleteAccountResponse {
    try await account.deleteAccount(.init(idempotencyKey: key), options: from("192.0.2.1", access))
  }

  func work(_ id: String, _ access: String) async throws(RPCError) -> ParleyAPI.AccountWork {
    try await account.getAccountWork(.init(workID: id), options: from("192.0.2.1", access)).work ?? .init()
  }

  func report(_ receipt: String, from address: String = "192.0.2.77") async throws(RPCError) -> ParleyAPI.AccountWork {
    try await account.getDeletionReport(.init(receipt: receipt), options: from(address)).work ?? .init()
  }

  /// An export that is no longer being made.
  func export(_ access: String, _ key: String = keys[0]) async throws -> ParleyAPI.AccountWork {
    let id = try await startExport(access, key).id
    // Time passes meanwhile, so that what failed is tried again.
    return try await ended { () async throws(RPCError) in
      clock.advance(by: .milliseconds(100))
      return try await work(id, access)
    }
  }

  /// The deletion with a receipt, once it is done. Time passes meanwhile, so that what failed is tried again.
  func deleted(_ receipt: String) async throws -> ParleyAPI.AccountWork {
    var count = 0
    return try await ended { () async throws(RPCError) in
      // Each question from an address of its own: the limit is no matter here.
      count += 1
      clock.advance(by: .seconds(2))
      return try await report(receipt, from: "198.51.\(count / 250 % 250).\(count % 250)")
    }
  }

  /// Asks until the work has ended.
  private func ended(
    _ ask: () async throws(RPCError) -> ParleyAPI.AccountWork
  ) async throws -> ParleyAPI.AccountWork {
    let end = MonotonicInstant.now().advanced(by: .seconds(40).withPatience)
    while MonotonicInstant.now() < end {
      let work = try await ask()
      if work.state != .running { return work }
      try await Task.sleep(for: .milliseconds(50))  // between two looks
    }
    throw TimedOut("the end of an export or a deletion")
  }

  /// Everything from an offset on: the parts as they came.
  func download(_ id: String, _ access: String, from offset: Int64 = 0) async throws -> [DownloadExportResponse] {
    try await account.downloadExport(.init(workID: id, offset: offset), options: from("192.0.2.1", access)) { stream in
      var (stream, parts) = (stream, [DownloadExportResponse]())
      while let part = try await stream.next() { parts.append(part) }
      return parts
    }
  }
}

/// Documents by service and name, each checked against its hash.
func documents(_ parts: [DownloadExportResponse]) throws -> [String: [UInt8]] {
  var documents: [String: [UInt8]] = [:]
  for part in parts {
    let name = "\(part.service)/\(part.document)"
    guard part.documentOffset == Int64(documents[name]?.count ?? 0) else { throw TestFailure("\(name) has a hole") }
    documents[name, default: []] += Array(part.data)
    guard let sha256 = part.sha256 else { continue }
    guard SHA256.digest(documents[name] ?? []) == Array(sha256) else { throw TestFailure("\(name) has another hash") }
  }
  return documents
}

extension ParleyAPI.AccountWork {
  func step(_ name: String) -> AccountWorkStep? { steps.first { $0.name == name } }

  /// `kind: deleted/held` of a step.
  func counts(_ step: String) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: (self.step(step)?.counts ?? []).map { ($0.kind, "\($0.deleted)/\($0.held)") })
  }
}
