internal import Glibc
internal import Synchronization

/// A few threads for calls that block (name resolution, reading a file) so that no loop ever does.
///
/// Threads start when they are first needed, at most ``maximumThreads``, and end when the pool is shut down. What waits
/// beyond them queues in order.
public final class BlockingPool {
  /// The most threads that run at once.
  public let maximumThreads: Int
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let condition: UnsafeMutablePointer<pthread_cond_t>
  private var queue: [@Sendable () -> Void] = []
  private var threads: [LoopThread] = []
  private var idle = 0
  private var isShutDown = false

  /// A pool without threads yet.
  public init(maximumThreads: Int = 4) {
    self.maximumThreads = maximumThreads
    mutex = .allocate(capacity: 1)
    condition = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Runs `body` on one of the pool's threads and returns what it returned, on the caller's own executor.
  ///
  /// Cancellation does not interrupt a call that blocks: the task waits for its end.
  ///
  /// - Throws: What `body` throws, or ``EventLoopError`` with ``EventLoopError/Code/stopped`` once the pool is shut down.
  public func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let isAccepted = submit { continuation.resume(with: Result { try body() }) }
      if !isAccepted { continuation.resume(throwing: EventLoopError(.stopped, "the pool for blocking calls is shut down")) }
    }
  }

  /// Ends the threads once what is queued is done, and waits for them.
  public func shutDown() {
    pthread_mutex_lock(mutex)
    isShutDown = true
    let running = threads
    threads = []
    pthread_cond_broadcast(condition)
    pthread_mutex_unlock(mutex)
    for thread in running { thread.join() }
  }

  private func submit(_ work: @escaping @Sendable () -> Void) -> Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    guard !isShutDown else { return false }
    queue.append(work)
    // A thread that was woken for earlier work still counts as idle until it runs: what is queued must not exceed them.
    if queue.count > idle && threads.count < maximumThreads {
      threads.append(LoopThread(name: "blocking") { self.serve() })
    } else {
      pthread_cond_signal(condition)
    }
    return true
  }

  private func serve() {
    pthread_mutex_lock(mutex)
    while true {
      while queue.isEmpty && !isShutDown {
        idle += 1
        pthread_cond_wait(condition, mutex)
        idle -= 1
      }
      guard !queue.isEmpty else { break }
      let work = queue.removeFirst()
      pthread_mutex_unlock(mutex)
      work()
      pthread_mutex_lock(mutex)
    }
    pthread_mutex_unlock(mutex)
  }
}

// SAFETY: the queue is only touched with `mutex` held; the condition variable belongs to it.
extension BlockingPool: @unchecked Sendable {}
