import Foundation
public import ParleyAPI
public import RPC

/// What a person may do with all that is kept of them: take it along, and have it deleted.
///
/// `STEP_UP_REQUIRED` (FAILED_PRECONDITION) means that the person has to be seen again: ``SessionKeeper/stepUp(with:idToken:nonce:)``.
public struct AccountClient: Sendable {
  /// How often a download that breaks off goes on without having got any further.
  private static let attempts = 3

  private let account: AccountService.Client
  private let timeout: Duration
  private let clock: any WallClock

  /// A client over a channel.
  ///
  /// - Parameters:
  ///   - channel: Calls in the name of the session: a ``SessionChannel``. ``report(receipt:)`` needs no session.
  ///   - timeout: How long a call may take; a download, until it breaks off and goes on.
  ///   - clock: The time of day.
  public init(channel: any Channel, timeout: Duration = .seconds(30), clock: any WallClock = SystemWallClock()) {
    account = AccountService.Client(channel)
    self.timeout = timeout
    self.clock = clock
  }

  // MARK: Export

  /// Asks for an export. While one is being made, it is that one.
  public func startExport() async throws(RPCError) -> AccountWork {
    let response = try await account.startExport(.init(idempotencyKey: Self.key()), options: .timeout(timeout))
    return response.work ?? .init()
  }

  /// An export or a deletion of the person's.
  public func work(_ id: String) async throws(RPCError) -> AccountWork {
    try await account.getAccountWork(.init(workID: id), options: .timeout(timeout)).work ?? .init()
  }

  /// Downloads an export that is done, and goes on where it stopped when the connection breaks.
  ///
  /// - Parameters:
  ///   - id: The export.
  ///   - offset: Where to begin, in bytes of all documents.
  ///   - receive: Takes the next bytes; no byte comes twice. What it throws ends the download.
  /// - Returns: The number of bytes that all documents have.
  @discardableResult
  public func download(
    _ id: String, from offset: Int64 = 0, _ receive: (DownloadExportResponse) async throws -> Void
  ) async throws -> Int64 {
    var (place, failures) = (offset, 0)
    while true {
      do {
        try await account.downloadExport(.init(workID: id, offset: place), options: .timeout(timeout)) { stream in
          var stream = stream
          while let part = try await stream.next() {
            guard part.offset == place else { throw RPCError(.dataLoss, "the export does not go on where it stopped") }
            try await receive(part)
            if !part.data.isEmpty { failures = 0 }
            place += Int64(part.data.count)
          }
        }
        return place
      } catch let error as RPCError where error.code == .unavailable || error.code == .deadlineExceeded {
        failures += 1
        guard failures < Self.attempts else { throw error }
        try await clock.sleep(for: error.retryAfter ?? .milliseconds(200 << failures))
      }
    }
  }

  // MARK: Deletion

  /// Deletes the account. All sessions end, the caller's as well; what is told from now on is told to whoever has the receipt.
  public func deleteAccount() async throws(RPCError) -> (receipt: String, work: AccountWork) {
    let response = try await account.deleteAccount(.init(idempotencyKey: Self.key()), options: .timeout(timeout))
    return (response.receipt, response.work ?? .init())
  }

  /// How far a deletion has come. Nobody need be signed in.
  public func report(receipt: String) async throws(RPCError) -> AccountWork {
    try await account.getDeletionReport(.init(receipt: receipt), options: .timeout(timeout)).work ?? .init()
  }

  private static func key() -> String { UUID().uuidString.lowercased() }
}
