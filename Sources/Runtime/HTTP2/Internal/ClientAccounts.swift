internal import EventLoop

/// What one client behind proxies has open and has done without any use, whichever of a loop's connections it came over.
package final class ClientAccount {
  /// Handlers of its calls that are suspended: their streams may be gone already.
  package var runningHandlers = 0
  /// Its open streams.
  var streams = 0
  /// What waits in its streams until it is sent.
  var outbound = 0
  /// What waits in its streams until it is taken.
  var inbound = 0
  /// What its large messages may take that are on their way.
  var admitted = 0
  var abuse = AbuseScore()

  /// Whether nothing is lost when it is forgotten.
  func isIdle(_ now: MonotonicInstant, _ limits: HTTP2Limits) -> Bool {
    streams == 0 && runningHandlers == 0 && abuse.isZero(at: now, limits)
  }
}

/// The accounts of a loop, by what clients are counted under. Confined to the loop.
///
/// Bounded: once there are many, those that have nothing open and nothing to answer for are forgotten. Whoever has many addresses is
/// many clients, and costs no more than they would.
final class ClientAccounts {
  private static let kept = 4_096
  private let clients: ForwardedClients
  private var accounts: [String: ClientAccount] = [:]
  /// The same by what proxies said, so that most requests need no reading of addresses.
  private var said: [String: ClientAccount] = [:]
  private var most = ClientAccounts.kept

  init(_ clients: ForwardedClients) { self.clients = clients }

  func isProxy(_ peer: SocketAddress) -> Bool { clients.isProxy(peer) }

  /// How many clients are known.
  var count: Int { accounts.count }

  /// The account of the client that a proxy names in these fields.
  func account(
    of forwardedFor: [String], from peer: SocketAddress, at now: MonotonicInstant, _ limits: HTTP2Limits
  ) -> ClientAccount {
    // Proxies of different addresses may be believed differently about the same text.
    let text = "\(peer.host) \(forwardedFor.joined(separator: ","))"
    if let known = said[text] { return known }
    let key = clients.key(peer, forwardedFor)
    let account = accounts[key] ?? ClientAccount()
    if accounts.count >= most { forget(now, limits) }
    if said.count >= Self.kept { said.removeAll(keepingCapacity: true) }
    accounts[key] = account
    // Where a proxy appends to what its clients say, that may be long.
    if text.utf8.count <= 256 { said[text] = account }
    return account
  }

  private func forget(_ now: MonotonicInstant, _ limits: HTTP2Limits) {
    accounts = accounts.filter { !$0.value.isIdle(now, limits) }
    said.removeAll(keepingCapacity: true)
    most = max(Self.kept, accounts.count * 2)
  }
}
