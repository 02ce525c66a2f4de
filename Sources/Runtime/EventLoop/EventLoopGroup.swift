internal import CShims

/// The loops of a process, each on a thread of its own, and the pool for what blocks.
public final class EventLoopGroup: Sendable {
  /// The loops, in the order of their names.
  public let loops: [EventLoop]
  /// Where calls that block go.
  public let blocking: BlockingPool
  private let threads: [LoopThread]

  /// Starts `count` loops (default: one per core that the process may use).
  public init(count: Int? = nil, name: String = "loop", blockingThreads: Int = 4) throws(EventLoopError) {
    let count = count ?? Self.usableCores
    precondition(count > 0, "a group has at least one loop")
    var loops: [EventLoop] = []
    for index in 0..<count { loops.append(try EventLoop(name: "\(name)-\(index)")) }
    self.loops = loops
    blocking = BlockingPool(maximumThreads: blockingThreads)
    threads = loops.map { loop in LoopThread(name: loop.name) { loop.run() } }
  }

  /// Loops that have no threads: their owner drives them with ``EventLoop/drive(atMost:_:)``.
  package init(driven loops: [EventLoop]) {
    precondition(!loops.isEmpty, "a group has at least one loop")
    self.loops = loops
    blocking = BlockingPool(maximumThreads: 1)
    threads = []
  }

  /// The loop with the least load, and a unit of load added to it before anybody else can look.
  public func takeLeastBusy() -> EventLoop {
    var best = loops[0]
    for loop in loops.dropFirst() where loop.load < best.load { best = loop }
    best.takeLoad()
    return best
  }

  /// Ends all loops and waits for their threads. To be called from none of them.
  public func shutDown() {
    for loop in loops { loop.stop() }
    for thread in threads { thread.join() }
    blocking.shutDown()
  }

  /// How many cores this process may run on (its affinity mask, so that a container's limit by cpuset is respected).
  public static var usableCores: Int { Int(parley_usable_cores()) }
}
