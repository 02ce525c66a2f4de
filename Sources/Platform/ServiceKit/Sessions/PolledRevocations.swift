public import EventLoop
public import Logging
internal import PostgreSQL
public import Values

/// A place among the sessions that have ended: a number, and whose it is. A number alone would name another session once the
/// database was restored to a time before it was given.
public struct RevocationPosition: Sendable, Hashable {
  /// Before the first one.
  public static let start = RevocationPosition(cursor: 0, session: nil)

  /// The number of the last session that was read.
  public var cursor: Int64
  /// That session.
  public var session: UUID?

  /// A place.
  public init(cursor: Int64, session: UUID?) {
    self.cursor = cursor
    self.session = session
  }
}

/// Who keeps the sessions: the auth service's own store.
public protocol RevocationSource: Sendable {
  /// The sessions that ended after a position, at most some thousands at a time. Where that position is not there any more, be it that
  /// it matters no longer, be it that the database is one of before: all that can still matter, from the start.
  ///
  /// - Returns: The sessions, where to go on, and whether there are more now.
  func ended(
    after position: RevocationPosition
  ) async throws -> (sessions: [RevocationMemory.Ended], position: RevocationPosition, hasMore: Bool)

  /// Why a session has ended, or nil while it is alive.
  func ending(ofStored session: UUID) async throws -> SessionEnding?
}

/// Revocations in the process that keeps the sessions: read from where they are kept, several times a second.
public final class PolledRevocations: RevocationFeed {
  /// How often they are read.
  public static let interval = Duration.milliseconds(500)

  /// What was read.
  public let memory: RevocationMemory
  private let source: any RevocationSource
  private let log: Logger
  private let now: @Sendable () -> MonotonicInstant

  /// A feed that has read nothing yet.
  public init(
    _ source: any RevocationSource, log: Logger, now: @escaping @Sendable () -> MonotonicInstant = { .now() },
    unixSeconds: @escaping @Sendable () -> Int64
  ) {
    self.source = source
    self.log = log
    self.now = now
    memory = RevocationMemory(now: now, unixSeconds: unixSeconds)
  }

  /// As ``RevocationFeed/revision``.
  public var revision: UInt64? { memory.revision }

  /// As ``RevocationFeed/ending(of:)``.
  public func ending(of session: UUID) -> SessionEnding? { memory.ending(of: session) }

  /// As ``RevocationFeed/ask(_:)``.
  public func ask(_ session: UUID) async throws(RevocationsUnavailable) -> SessionEnding? {
    do { return try await source.ending(ofStored: session) } catch { throw RevocationsUnavailable("\(error)") }
  }

  /// Reads until it is cancelled.
  public func run(on loop: EventLoop) async throws {
    var position = RevocationPosition.start
    var isFailing = false
    while true {
      do {
        position = try await read(after: position)
        if isFailing { log.notice("ended sessions read again") }
        isFailing = false
      } catch is CancellationError { throw CancellationError() } catch {
        // Once, not twice a second for as long as the database is away.
        if !isFailing { log.error("ended sessions not read", metadata: ["cause": "\(error)"]) }
        isFailing = true
      }
      try await loop.sleep(for: Self.interval)
    }
  }

  /// Reads what has ended since.
  ///
  /// - Returns: Where to go on.
  public func read(after start: RevocationPosition) async throws -> RevocationPosition {
    var position = start
    while true {
      let began = now()
      let (sessions, next, hasMore) = try await source.ended(after: position)
      memory.learn(sessions)
      position = next
      guard hasMore else {
        memory.isCurrent(asOf: began)
        return position
      }
    }
  }
}
