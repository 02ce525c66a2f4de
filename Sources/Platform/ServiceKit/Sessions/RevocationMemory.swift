public import EventLoop
internal import PostgreSQL
internal import Synchronization
public import Values

/// The sessions that have ended and whose tokens may still be around, as far as this process has heard.
public final class RevocationMemory: Sendable {
  /// A session that has ended.
  public struct Ended: Sendable, Hashable {
    /// The session.
    public let session: UUID
    /// Why.
    public let ending: SessionEnding
    /// Until when tokens of it may be around, in seconds since 1970.
    public let mattersUntil: Int64

    /// A session that has ended.
    public init(session: UUID, ending: SessionEnding, mattersUntil: Int64) {
      self.session = session
      self.ending = ending
      self.mattersUntil = mattersUntil
    }
  }

  private struct State {
    var ended: [UUID: (ending: SessionEnding, mattersUntil: Int64)] = [:]
    var sweepsAt = 1024
  }

  /// For how long silence is no reason to doubt: in that time every session that ends is known everywhere.
  public static let patience = Duration.nanoseconds(Int64(patienceNanoseconds))
  private static let patienceNanoseconds: UInt64 = 5_000_000_000
  /// How long an entry is kept after its tokens have run out: the leeway that any verifier grants.
  static let margin: Int64 = 300

  private let state = Mutex(State())
  private let count = Atomic<UInt64>(1)
  /// Nanoseconds on the monotonic clock; 0: never.
  private let heardAt = Atomic<UInt64>(0)
  private let now: @Sendable () -> MonotonicInstant
  private let unixSeconds: @Sendable () -> Int64

  /// A memory that has heard nothing.
  ///
  /// - Parameters:
  ///   - now: The monotonic clock, which silence is measured with.
  ///   - unixSeconds: The time of day, for what to forget.
  public init(now: @escaping @Sendable () -> MonotonicInstant = { .now() }, unixSeconds: @escaping @Sendable () -> Int64) {
    self.now = now
    self.unixSeconds = unixSeconds
  }

  /// As ``RevocationFeed/revision``.
  public var revision: UInt64? {
    // For every call: in whole nanoseconds, which cost less than durations.
    let (heard, now) = (heardAt.load(ordering: .acquiring), now().nanoseconds)
    guard heard > 0, now < heard || now - heard < Self.patienceNanoseconds else { return nil }
    return count.load(ordering: .acquiring)
  }

  /// How long nothing was heard.
  public var silence: Duration {
    let heard = heardAt.load(ordering: .acquiring)
    guard heard > 0 else { return .seconds(Int64.max >> 8) }
    return now().duration(since: MonotonicInstant(nanoseconds: heard))
  }

  /// How many ended sessions are remembered.
  public var size: Int { state.withLock { $0.ended.count } }

  /// As ``RevocationFeed/ending(of:)``.
  public func ending(of session: UUID) -> SessionEnding? { state.withLock { $0.ended[session]?.ending } }

  /// Remembers sessions that have ended.
  public func learn(_ ended: [Ended]) {
    guard !ended.isEmpty else { return }
    let now = unixSeconds()
    state.withLock { state in
      for ended in ended { state.ended[ended.session] = (ended.ending, ended.mattersUntil) }
      guard state.ended.count >= state.sweepsAt else { return }
      state.ended = state.ended.filter { $0.value.mattersUntil + Self.margin >= now }
      state.sweepsAt = max(1024, state.ended.count * 2)
    }
    // After the entries: who sees the new count finds them.
    count.add(1, ordering: .releasing)
  }

  /// Everything that had ended when `instant` was, is known here.
  public func isCurrent(asOf instant: MonotonicInstant) {
    let nanoseconds = instant.nanoseconds
    _ = heardAt.max(nanoseconds, ordering: .releasing)
  }
}
