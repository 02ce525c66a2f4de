internal import CShims
public import EventLoop
internal import Glibc
internal import Synchronization

/// A loop that stays at one turn: something on it computes for long, or waits without suspending.
public struct LoopStall: Sendable {
  /// The loop.
  public let loop: EventLoop
  /// Its place in the group.
  public let index: Int
  /// What it was at when it was found.
  public let pulse: LoopPulse
  /// How long it has stood still, or stood still in all once it is over; right to about the period of the looks.
  public let duration: Duration
}

/// Whether every loop of a group still turns, as a thread of its own sees it: some times a second it looks at what each loop is
/// doing. Loops take no part in it, and idle ones are not woken.
///
/// It watches from when it is made until ``stop()``.
public final class LoopLiveness: Sendable {
  /// Who is told of stalls, on the watching thread.
  public struct Observer: Sendable {
    /// A loop has stood still for longer than the threshold.
    public let began: @Sendable (LoopStall) -> Void
    /// It goes on.
    public let ended: @Sendable (LoopStall) -> Void

    /// An observer of both.
    public init(
      began: @escaping @Sendable (LoopStall) -> Void = { _ in }, ended: @escaping @Sendable (LoopStall) -> Void = { _ in }
    ) {
      self.began = began
      self.ended = ended
    }
  }

  private let watched: [WatchedLoop]
  private let wake: Int32
  private let thread: LoopThread

  /// Begins to watch.
  ///
  /// - Parameters:
  ///   - group: The loops.
  ///   - threshold: How long a loop may stay at one turn before `observer` is told.
  ///   - observer: Who is told.
  public init(_ group: EventLoopGroup, threshold: Duration = .milliseconds(500), observer: Observer = Observer()) {
    let watched = group.loops.enumerated().map { WatchedLoop($1, index: $0) }
    let wake = parley_make_eventfd()
    self.watched = watched
    self.wake = wake
    // Five looks within the threshold: what is found is at most a fifth of it late.
    let period = max(.milliseconds(5), min(threshold / 5, .milliseconds(200)))
    thread = LoopThread(name: "watch") { Self.watch(watched, every: period, threshold: threshold, observer, until: wake) }
  }

  deinit { close(wake) }

  /// The names of the loops that have stood still for longer than `limit`.
  public func stalled(for limit: Duration) -> [String] {
    watched.filter { $0.standing > limit }.map(\.loop.name)
  }

  /// Stops watching, and waits for it. Once.
  public func stop() {
    var one: UInt64 = 1
    _ = write(wake, &one, 8)
    thread.join()
  }

  private static func watch(
    _ watched: [WatchedLoop], every period: Duration, threshold: Duration, _ observer: Observer, until wake: Int32
  ) {
    let milliseconds = Int32(period.nanosecondCount / 1_000_000)
    var last = MonotonicInstant.now()
    while true {
      var descriptor = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
      let ready = poll(&descriptor, 1, milliseconds)
      if ready > 0 { return }
      if ready < 0 && errno != EINTR { return }
      let now = MonotonicInstant.now()
      // Who was stopped with the whole process, or starved, has seen nothing in the meantime: that time does not count.
      let seen = min(now.duration(since: last), period * 2)
      last = now
      for loop in watched { loop.look(now, seen, threshold, observer) }
    }
  }
}

/// One loop as the watching thread sees it.
// SAFETY: `standingNanoseconds` is atomic; all else belongs to the watching thread.
private final class WatchedLoop: @unchecked Sendable {
  let loop: EventLoop
  private let index: Int
  /// The turn that it was at, at the last look; nil when it waited.
  private var turn: UInt64?
  private var since = MonotonicInstant.now()
  private var stall: LoopStall?
  private let standingNanoseconds = Atomic<UInt64>(0)

  /// How long the loop has been seen at one turn.
  var standing: Duration { .nanoseconds(Int64(clamping: standingNanoseconds.load(ordering: .relaxed))) }

  init(_ loop: EventLoop, index: Int) {
    self.loop = loop
    self.index = index
  }

  func look(_ now: MonotonicInstant, _ seen: Duration, _ threshold: Duration, _ observer: LoopLiveness.Observer) {
    let pulse = loop.pulse
    guard pulse.phase != .waiting, pulse.turn == turn else {
      if let stall {
        self.stall = nil
        observer.ended(
          LoopStall(loop: loop, index: index, pulse: stall.pulse, duration: stall.duration + now.duration(since: since)))
      }
      turn = pulse.phase == .waiting ? nil : pulse.turn
      standingNanoseconds.store(0, ordering: .relaxed)
      return
    }
    let total = standing + seen
    standingNanoseconds.store(total.nanosecondCount, ordering: .relaxed)
    guard stall == nil, total >= threshold else { return }
    let found = LoopStall(loop: loop, index: index, pulse: pulse, duration: total)
    stall = found
    since = now
    observer.began(found)
  }
}

extension Duration {
  /// In nanoseconds; 0 when negative.
  fileprivate var nanosecondCount: UInt64 {
    let (seconds, attoseconds) = components
    return UInt64(clamping: seconds) * 1_000_000_000 + UInt64(clamping: attoseconds / 1_000_000_000)
  }
}
