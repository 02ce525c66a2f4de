import Glibc
import Synchronization

/// Commits the defect that it is asked for, so that each run proves that the sanitizer would have reported one; and what is none but
/// looks like it, so that each run proves that it is not reported.
@main struct Seeded {
  static func main() async {
    switch CommandLine.arguments.dropFirst().first {
    case "leak": leak()
    case "overflow": overflow()
    case "weak-leak": weakLeak()
    case "race": race()
    case "weak": weakly()
    case "hand-over": await handOver()
    default: exit(64)
    }
  }

  private static func leak() {
    for _ in 0..<8 { _ = Unmanaged.passRetained(Box()) }
  }

  /// Two objects that hold each other, one of them referred to weakly too.
  private static func weakLeak() {
    for _ in 0..<8 {
      let (one, other) = (Box(), Box())
      (one.other, other.other) = (other, one)
      weak let seen = one
      precondition(seen != nil)
    }
  }

  private static func overflow() {
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 8)
    defer { bytes.deallocate() }
    bytes[8 + CommandLine.arguments.count - 2] = 1
  }

  private static func race() {
    let box = Box()
    threads(2) { for _ in 0..<10_000 { box.value += 1 } }
  }

  /// Nothing is lost here: an object that lives to the end is referred to weakly.
  private static func weakly() {
    let box = Box()
    kept.withLock { $0 = box }
    weak let seen = box
    precondition(seen != nil)
  }

  /// Nothing races here: a Mutex that several threads want at once, and continuations, half of them resumed before their task has
  /// suspended.
  private static func handOver() async {
    let box = Box()
    let mutex = Guarded()
    threads(4) { for _ in 0..<20_000 { mutex.value.withLock { $0.append(1) } } }
    for count in 0..<100 {
      await withUnsafeContinuation { continuation in
        resume(waits: count % 2 == 0) {
          box.value += count
          continuation.resume()
        }
      }
      await withCheckedContinuation { continuation in
        resume(waits: count % 2 == 0) {
          box.value += count
          continuation.resume()
        }
      }
    }
    precondition(box.value == 9_900 && mutex.value.withLock { $0.count } == 80_000)
  }

  private static let kept = Mutex<Box?>(nil)

  /// Has another thread resume a task; `waits` until it has, by means that order nothing.
  private static func resume(waits: Bool, _ body: @escaping @Sendable () -> Void) {
    let isDone = Flag()
    pthread_detach(
      start {
        body()
        isDone.value.store(true, ordering: .relaxed)
      })
    while waits && !isDone.value.load(ordering: .relaxed) { sched_yield() }
  }

  private static func threads(_ count: Int, _ body: @escaping @Sendable () -> Void) {
    for thread in (0..<count).map({ _ in start(body) }) { pthread_join(thread, nil) }
  }

  private static func start(_ body: @escaping @Sendable () -> Void) -> pthread_t {
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(Body(body)).toOpaque())
    precondition(result == 0)
    return thread
  }
}

private final class Body {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

private final class Guarded: Sendable {
  let value = Mutex<[Int]>([])
}

private final class Flag: Sendable {
  let value = Atomic<Bool>(false)
}

private final class Box {
  var value = 0
  var other: Box?
}

// SAFETY: there is none, which is the point.
extension Box: @unchecked Sendable {}
