internal import EventLoop
internal import RPC
internal import Synchronization

/// Whose handler has a loop, for the log line about a loop that does not go on.
public struct HandlerTrace: Sendable, Hashable, CustomStringConvertible {
  /// How much is known.
  public enum Certainty: Sendable, Hashable {
    /// The handler began in this turn of the loop, and has not suspended yet.
    case running
    /// The handler's task was resumed.
    case resumed
    /// Something else has the loop; this is the handler that began last.
    case last
  }

  /// The method's path (`/parley.auth.v1.AuthService/SignIn`), or the path of a plain HTTP route.
  public let path: String
  /// How much is known.
  public let certainty: Certainty

  /// A path, and how certain it is.
  public init(path: String, certainty: Certainty) {
    self.path = path
    self.certainty = certainty
  }

  /// In words: `/a.B/C`, `/a.B/C, resumed`, or `a task or callback (the last handler to begin was /a.B/C)`.
  public var description: String {
    switch certainty {
    case .running: path
    case .resumed: "\(path), resumed"
    case .last: "a task or callback (the last handler to begin was \(path))"
    }
  }
}

/// What a loop runs, left behind by three stores per call where any thread can read it.
///
/// A handler that suspends is remembered by its task, in one of some places that its address chooses: two handlers that share a
/// place cost one of them its name, and nothing else. Written on its loop only.
struct RunningHandlers: ~Copyable {
  /// A reference as a number: who is named belongs to the route table, which lives as long as its server.
  typealias Name = UInt

  private let current = Atomic<Name>(0)
  private let last = Atomic<Name>(0)
  /// Pairs of a task and a name.
  private let places: UnsafeMutablePointer<Atomic<UInt>>
  private static let placeCount = 1_024

  init() {
    places = .allocate(capacity: Self.placeCount * 2)
    for index in 0..<Self.placeCount * 2 { (places + index).initialize(to: Atomic(0)) }
  }

  deinit {
    places.deinitialize(count: Self.placeCount * 2)
    places.deallocate()
  }

  @inline(__always)
  static func name(_ method: MethodInfo) -> Name { UInt(bitPattern: Unmanaged.passUnretained(method).toOpaque()) }

  /// Objects begin at even addresses, so the lowest bit can tell the two kinds apart.
  static func name(_ route: RouteEntry) -> Name { UInt(bitPattern: Unmanaged.passUnretained(route).toOpaque()) | 1 }

  /// A handler begins, on its loop.
  @inline(__always)
  func began(_ name: Name) {
    current.store(name, ordering: .relaxed)
    last.store(name, ordering: .relaxed)
  }

  /// The handler that began is done.
  @inline(__always)
  func finished() { current.store(0, ordering: .relaxed) }

  /// The handler that began has suspended; its task is remembered.
  func suspended(_ task: Task<Void, Never>) {
    let identity = EventLoop.identity(of: task)
    let place = place(of: identity)
    (place + 1).pointee.store(current.load(ordering: .relaxed), ordering: .relaxed)
    place.pointee.store(identity, ordering: .releasing)
    finished()
  }

  /// A handler that had suspended is done.
  func ended(_ task: Task<Void, Never>) {
    let place = place(of: EventLoop.identity(of: task))
    if place.pointee.load(ordering: .relaxed) == EventLoop.identity(of: task) { place.pointee.store(0, ordering: .relaxed) }
  }

  private func place(of identity: UInt) -> UnsafeMutablePointer<Atomic<UInt>> {
    places + Int((identity >> 4 ^ identity >> 14) % UInt(Self.placeCount)) * 2
  }

  /// Whose handler it is, from any thread. Right while the loop stands still, which is when it is asked.
  func trace(_ pulse: LoopPulse) -> HandlerTrace? {
    if let path = Self.path(current.load(ordering: .relaxed)) { return HandlerTrace(path: path, certainty: .running) }
    if pulse.phase == .tasks, pulse.task != 0 {
      let place = place(of: pulse.task)
      if place.pointee.load(ordering: .acquiring) == pulse.task,
        let path = Self.path((place + 1).pointee.load(ordering: .relaxed))
      {
        return HandlerTrace(path: path, certainty: .resumed)
      }
    }
    return Self.path(last.load(ordering: .relaxed)).map { HandlerTrace(path: $0, certainty: .last) }
  }

  private static func path(_ name: Name) -> String? {
    guard let pointer = UnsafeRawPointer(bitPattern: name & ~1) else { return nil }
    // SAFETY: see `Name`; the server is alive, since it is what is asked.
    return name & 1 == 0
      ? Unmanaged<MethodInfo>.fromOpaque(pointer).takeUnretainedValue().path
      : Unmanaged<RouteEntry>.fromOpaque(pointer).takeUnretainedValue().path
  }
}
