internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// A call that waits for its channel to connect, at most until its deadline and as long as its task is not cancelled.
// SAFETY: used on its loop only; cancellation, which may come from any thread, hops there first.
final class ConnectionWaiter: @unchecked Sendable {
  let waitsForReady: Bool
  private(set) var isDone = false
  private let loop: EventLoop
  private var result: Result<HTTP2Connection, RPCError>?
  private var continuation: UnsafeContinuation<Void, Never>?
  private let timer = LoopTimer()

  init(on loop: EventLoop, waitsForReady: Bool) {
    self.loop = loop
    self.waitsForReady = waitsForReady
  }

  func wait(until deadline: Deadline?) async throws(RPCError) -> HTTP2Connection {
    if let deadline {
      timer.onFire = { [unowned self] in fail(.deadlineExceeded) }
      loop.arm(timer, at: MonotonicInstant(nanoseconds: deadline.monotonicNanoseconds))
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { if result == nil { continuation = $0 } else { $0.resume() } }
    } onCancel: {
      let fail: @Sendable () -> Void = { self.fail(RPCError(.cancelled, "the call was cancelled")) }
      // Once the loop has ended nobody else touches what belonged to it.
      if !loop.execute(fail) { fail() }
    }
    return try result.unsafelyUnwrapped.get()
  }

  func succeed(_ connection: HTTP2Connection) { finish(.success(connection)) }

  func fail(_ error: RPCError) { finish(.failure(error)) }

  private func finish(_ result: Result<HTTP2Connection, RPCError>) {
    guard !isDone else { return }
    isDone = true
    self.result = result
    if loop.isCurrent { loop.disarm(timer) }
    continuation?.resume()
    continuation = nil
  }
}
