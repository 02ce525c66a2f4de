internal import CPostgreSQL
public import EventLoop
public import Logging

/// One connection outside the pools, for work that is done now and then and may take its time: migrations, creating roles,
/// creating databases. Its session has no statement timeout.
///
/// Beside single statements it takes scripts, which the pools do not. One call at a time.
public final class Session: QueryRunning {
  private let loop: EventLoop
  private let configuration: DatabaseConfiguration
  private let blocking: BlockingPool
  private let log: Logger
  private var connection: Connection?
  private var opening: Request?

  private init(_ configuration: DatabaseConfiguration, _ loop: EventLoop, _ blocking: BlockingPool, _ log: Logger) {
    self.configuration = configuration
    self.loop = loop
    self.blocking = blocking
    self.log = log
  }

  deinit { assert(connection == nil, "a session is closed before it is let go") }

  /// Opens a session on the first loop of `group`, hands it to `body` and closes it.
  ///
  /// - Throws: ``DatabaseError`` with `connectionLost` when none can be opened, and what `body` throws.
  public static func with<Value>(
    _ configuration: DatabaseConfiguration, group: EventLoopGroup, log: Logger, _ body: (Session) async throws -> Value
  ) async throws -> Value {
    try configuration.validate()
    let session = Session(configuration, group.loops[0], group.blocking, log)
    do {
      try await session.onLoop { session throws(DatabaseError) in try await session.open() }
      let value = try await body(session)
      await session.end()
      return value
    } catch {
      // Also when it never opened: the attempt goes on, and its owner is about to go.
      await session.end()
      throw error
    }
  }

  /// Runs one statement; it is committed when the call returns, unless a script has begun a transaction.
  public func run(_ query: Query, deadline: MonotonicInstant? = nil) async throws(DatabaseError) -> QueryResult {
    try query.mustBeStorable()
    return try await onLoop { session throws(DatabaseError) in
      let request = Request(on: session.loop)
      request.kind = .step
      request.queries = [query]
      request.deadline = deadline
      return try await session.perform(request) { $0.send(transaction: $1) }.result()
    }
  }

  /// Runs one statement and says how many rows it touched.
  @discardableResult
  public func execute(_ query: Query) async throws(DatabaseError) -> Int { try await run(query).affectedRows }

  /// Runs the statements of a text, which is trusted: it must hold nothing that came from outside.
  ///
  /// They are one implicit transaction where the text does not begin and commit by itself. Rows are not returned.
  ///
  /// - Throws: ``DatabaseError`` of the first statement that failed; what follows it has not run.
  public func script(_ text: String) async throws(DatabaseError) {
    _ = try await onLoop { session throws(DatabaseError) in
      let request = Request(on: session.loop)
      request.kind = .script
      request.script = text
      return try await session.perform(request) { $0.send(script: $1) }.results()
    }
  }

  /// The SCRAM verifier of a password, so that the password itself never reaches the server or its log.
  func verifier(of password: String, role: String) async throws(DatabaseError) -> String {
    try await onLoop { session throws(DatabaseError) in
      guard let pointer = session.connection?.pointer,
        let text = PQencryptPasswordConn(pointer, password, role, "scram-sha-256")
      else { throw DatabaseError(.queryFailed, "the password cannot be used") }
      defer { PQfreemem(text) }
      return String(cString: text)
    }
  }

  // MARK: On the loop

  private func open() async throws(DatabaseError) {
    let request = Request(on: loop)
    request.kind = .lease
    _ = try await request.wait { request in
      opening = request
      let connection = Connection(.administration(configuration), on: loop, blocking: blocking, log: log, owner: self)
      self.connection = connection
      connection.open()
    }.connection()
  }

  private func perform(
    _ request: Request, _ send: (Connection, Request) -> Void
  ) async throws(DatabaseError) -> Request.Outcome {
    guard let connection, connection.isOpen else { throw DatabaseError(.connectionLost, "the session has ended") }
    guard connection.isIdle else { throw DatabaseError(.misuse, "a session runs one statement at a time") }
    return await request.wait { send(connection, $0) }
  }

  private func end() async {
    let isClosed = await loop.visit(ifStopped: false) {
      self.close()
      return true
    }
    guard !isClosed else { return }
    // The loop has ended, and nothing of it asks for the connection any more.
    connection = nil
    opening = nil
  }

  private func close() { connection?.fail(DatabaseError(.closed, "the session was closed")) }

  private func onLoop<Value: Sendable, Failure: Error>(
    _ body: @Sendable (Session) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await loop.visit { () async throws(Failure) -> Value in try await body(self) }
  }
}

extension Session: ConnectionOwner {
  func connectionDidOpen(_ connection: Connection) {
    opening?.resume(.leased(connection))
    opening = nil
  }

  func connectionDidClose(_ connection: Connection, _ error: DatabaseError, unanswered: [Request]) {
    self.connection = nil
    opening?.resume(.failed(error))
    opening = nil
    for request in unanswered { request.resume(.failed(error.writing(mayHaveCommitted: true))) }
  }

  func connection(_ connection: Connection, didAnswer read: Request, _ result: OpaquePointer) { PQclear(result) }

  func connection(_ connection: Connection, didFail read: Request, _ error: DatabaseError) {}

  func connection(_ connection: Connection, didFinish request: Request) { request.resumeWithResults() }
}

// SAFETY: the connection and the requests are touched on the loop only.
extension Session: @unchecked Sendable {}
