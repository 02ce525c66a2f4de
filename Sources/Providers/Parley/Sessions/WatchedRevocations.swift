public import EventLoop
public import Logging
internal import ParleyAPI
internal import PostgreSQL
public import RPC
public import ServiceKit
internal import Synchronization
public import Values
internal import WellKnown

/// The sessions that have ended, as the auth service streams them.
///
/// The stream is opened again whenever it breaks or falls silent, and goes on where it was. What it says counts from its first
/// heartbeat on: before that there may be more to come that has long happened.
public final class WatchedRevocations: RevocationFeed {
  private struct Questions {
    typealias Answer = Result<SessionEnding?, RevocationsUnavailable>
    var waiting: [UUID: [CheckedContinuation<Answer, Never>]] = [:]
    var isUnderWay = false
  }

  /// The most sessions that one question may be about.
  private static let questionSize = 100
  /// How long an answer may take: the caller waits for it.
  private static let answerTime = Duration.seconds(2)
  /// How long a stream may be silent before another one is opened. Its heartbeat comes every second.
  private static let heartbeatTime = Duration.seconds(3)
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)

  /// What was heard.
  public let memory: RevocationMemory
  private let directory: SessionDirectoryService.Client
  private let loop: EventLoop
  private let log: Logger
  private let now: @Sendable () -> MonotonicInstant
  private let questions = Mutex(Questions())

  /// A feed that has heard nothing.
  ///
  /// - Parameters:
  ///   - channel: The way to the auth service, as a client that may call methods of SERVICE access.
  ///   - loop: Where the stream is read, and where questions are asked for callers on no loop.
  ///   - log: Who is told when nothing is heard.
  ///   - now: The monotonic clock.
  ///   - unixSeconds: The time of day.
  public init(
    over channel: any Channel, on loop: EventLoop, log: Logger, now: @escaping @Sendable () -> MonotonicInstant = { .now() },
    unixSeconds: @escaping @Sendable () -> Int64
  ) {
    directory = SessionDirectoryService.Client(channel)
    self.loop = loop
    self.log = log
    self.now = now
    memory = RevocationMemory(now: now, unixSeconds: unixSeconds)
  }

  /// As ``ServiceKit/RevocationFeed/revision``.
  public var revision: UInt64? { memory.revision }

  /// As ``ServiceKit/RevocationFeed/ending(of:)``.
  public func ending(of session: UUID) -> SessionEnding? { memory.ending(of: session) }

  // MARK: Listening

  /// Listens until it is cancelled.
  public func run() async throws {
    let cursor = Cursor()
    var pause = Self.shortestPause
    while true {
      let began = now()
      do { try await listen(from: cursor) } catch {
        try Task.checkCancellation()
        log.warning("revocations not heard", metadata: ["cause": "\(error)", "silence": "\(memory.silence)"])
      }
      // Who was heard for a while is asked again at once.
      if now().duration(since: began) > .seconds(10) { pause = Self.shortestPause }
      try await loop.sleep(for: pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, Self.longestPause)
    }
  }

  private final class Cursor: Sendable {
    /// The number of the last session that was heard of, and whose it is: the number alone would be another's after a restore.
    let position = Mutex((number: Int64(0), session: ""))
    /// Nanoseconds on the monotonic clock.
    let lastMessage = Atomic<UInt64>(0)
  }

  private struct Silent: Error, CustomStringConvertible {
    var description: String { "the stream is silent" }
  }

  private func listen(from cursor: Cursor) async throws {
    cursor.lastMessage.store(now().nanoseconds, ordering: .relaxed)
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask(executorPreference: loop) { try await self.read(from: cursor) }
      tasks.addTask(executorPreference: loop) {
        while true {
          try await self.loop.sleep(for: .milliseconds(500))
          let last = MonotonicInstant(nanoseconds: cursor.lastMessage.load(ordering: .relaxed))
          if self.now().duration(since: last) > Self.heartbeatTime { throw Silent() }
        }
      }
      defer { tasks.cancelAll() }
      try await tasks.next()
    }
  }

  private func read(from cursor: Cursor) async throws {
    let position = cursor.position.withLock { $0 }
    let request = WatchRevocationsRequest(cursor: position.number, cursorSessionID: position.session)
    try await directory.watchRevocations(request) { stream in
      var stream = stream
      var hasCaughtUp = false
      while let message = try await stream.next() {
        let now = now()
        cursor.lastMessage.store(now.nanoseconds, ordering: .relaxed)
        memory.learn(message.sessions.compactMap { RevocationMemory.Ended($0) })
        cursor.position.withLock { $0 = (message.cursor, message.cursorSessionID) }
        if message.sessions.isEmpty { hasCaughtUp = true }
        if hasCaughtUp { memory.isCurrent(asOf: now) }
      }
    }
  }

  // MARK: Asking

  /// As ``ServiceKit/RevocationFeed/ask(_:)``. Questions that come while one is on its way go together.
  public func ask(_ session: UUID) async throws(RevocationsUnavailable) -> SessionEnding? {
    try await withCheckedContinuation { continuation in
      let isFirst = questions.withLock { questions in
        questions.waiting[session, default: []].append(continuation)
        defer { questions.isUnderWay = true }
        return !questions.isUnderWay
      }
      // The call that happens to be the first must not bound the others by its deadline.
      if isFirst { CallContext.$current.withValue(nil) { _ = (EventLoop.current ?? loop).spawn { await self.askAll() } } }
    }.get()
  }

  private func askAll() async {
    while true {
      let batch = questions.withLock { questions -> [(key: UUID, value: [CheckedContinuation<Questions.Answer, Never>])] in
        let batch = Array(questions.waiting.prefix(Self.questionSize))
        for (session, _) in batch { questions.waiting[session] = nil }
        if batch.isEmpty { questions.isUnderWay = false }
        return batch
      }
      guard !batch.isEmpty else { return }
      let alive: Result<Set<UUID>, RevocationsUnavailable>
      do {
        let answer = try await directory.checkSessions(
          .init(sessionIDs: batch.map(\.key.description)), options: .timeout(Self.answerTime))
        alive = .success(Set(answer.aliveSessionIDs.compactMap { UUID($0) }))
      } catch {
        alive = .failure(RevocationsUnavailable(error.description))
      }
      for (session, waiting) in batch {
        // Why it has ended may have been heard meanwhile; the answer does not say it.
        let answer = alive.map { $0.contains(session) ? nil : ending(of: session) ?? SessionEnding.revoked }
        for continuation in waiting { continuation.resume(returning: answer) }
      }
    }
  }
}

extension RevocationMemory.Ended {
  /// Nil when the session has no name: nobody's token bears it.
  init?(_ message: EndedSession) {
    guard let session = UUID(message.sessionID) else { return nil }
    let ending: SessionEnding =
      switch message.cause {
      case .signedOut: .signedOut
      case .refreshReused: .refreshReused
      case .expired: .expired
      case .revokedByOperator: .revokedByOperator
      case .accountDeleted: .accountDeleted
      case .consentRevoked: .consentRevoked
      // A cause of a later version, too: the session has ended.
      case .revoked, .unspecified, .unrecognized: .revoked
      }
    // Who does not say is remembered for as long as any token could live.
    self.init(session: session, ending: ending, mattersUntil: message.mattersUntil?.seconds ?? .max / 2)
  }
}
