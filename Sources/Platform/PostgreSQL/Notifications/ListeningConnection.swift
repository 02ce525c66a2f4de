internal import CPostgreSQL
internal import EventLoop
internal import Logging

/// A connection of its own that listens to channels, and is opened again whenever it breaks. Confined to its loop.
///
/// The server says nothing for hours where nobody notifies: it is asked now and then, so that one that is gone is noticed.
// SAFETY: touched on its loop only.
final class ListeningConnection: ConnectionOwner, @unchecked Sendable {
  private let settings: ConnectionSettings
  private let channels: [String]
  private let loop: EventLoop
  private let blocking: BlockingPool
  private let log: Logger
  private let hear: @Sendable (Heard) -> Void
  private var connection: Connection?
  private var isClosed = false
  private var backoff: Backoff
  private let reopening = LoopTimer()
  private let heartbeat = LoopTimer()

  init(
    _ configuration: DatabaseConfiguration, _ channels: [String], part: LoopDatabase, _ hear: @escaping @Sendable (Heard) -> Void
  ) {
    settings = .listening(configuration)
    self.channels = channels
    loop = part.loop
    blocking = part.blocking
    log = part.log
    self.hear = hear
    backoff = Backoff(longest: configuration.longestReconnectPause)
    reopening.onFire = { [unowned self] in open() }
    heartbeat.onFire = { [unowned self] in beat() }
  }

  func open() {
    guard !isClosed else { return }
    let connection = Connection(settings, on: loop, blocking: blocking, log: log, owner: self)
    self.connection = connection
    connection.open()
  }

  /// Ends it; nothing is heard any more.
  func close() {
    isClosed = true
    loop.disarm(reopening)
    loop.disarm(heartbeat)
    connection?.fail(DatabaseError(.closed, "nobody listens any more"))
    reopening.onFire = {}
    heartbeat.onFire = {}
  }

  // MARK: The connection's news

  func connectionDidOpen(_ connection: Connection) {
    let request = Request(on: loop)
    request.kind = .script
    request.script = channels.map { "listen \(SQLName.quoted($0));" }.joined()
    connection.send(script: request)
  }

  func connection(_ connection: Connection, didFinish request: Request) {
    if let failure = request.failure { return connection.fail(failure) }
    backoff.reset()
    loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
    hear(.listening)
  }

  func connection(_ connection: Connection, didHear channel: String, _ payload: String) {
    guard !isClosed else { return }
    hear(.notification(channel: channel, payload: payload))
  }

  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request]) {
    self.connection = nil
    loop.disarm(heartbeat)
    guard !isClosed else { return }
    log.warning("notifications of the database are not heard", metadata: ["reason": "\(error)"])
    loop.arm(reopening, after: backoff.next())
  }

  func connection(_ connection: Connection, didAnswer read: Request, _ result: OpaquePointer) { PQclear(result) }

  func connection(_ connection: Connection, didFail read: Request, _ error: DatabaseError) { connection.fail(error) }

  private func beat() {
    guard let connection, connection.isOpen else { return }
    if connection.isIdle {
      let request = Request(on: loop)
      request.query = "select 1"
      connection.send(read: request)
    }
    loop.arm(heartbeat, after: settings.configuration.heartbeatPause)
  }
}
