internal import EventLoop
internal import HTTP2
internal import RPC
internal import RPCWire

/// One unary gRPC call on one HTTP/2 stream, as the client sees it.
// SAFETY: used on its loop only; cancellation, which may come from any thread, hops there first.
final class GRPCClientCall: HTTP2StreamHandler, @unchecked Sendable {
  enum Outcome {
    case response([UInt8], initial: Metadata, trailing: Metadata)
    case failure(RPCError)
    /// The server has certainly not begun the call.
    case unprocessed(RPCError)
  }

  /// How the call ended; unprocessed until a stream was opened.
  private(set) var outcome = Outcome.unprocessed(RPCError(.unavailable, "the connection takes no new calls"))
  private let loop: EventLoop
  private let maximumBytes: Int
  private var stream: HTTP2Stream?
  private var isDone = false
  private var continuation: UnsafeContinuation<Void, Never>?
  private let timer = LoopTimer()

  init(on loop: EventLoop, maximumBytes: Int) {
    self.loop = loop
    self.maximumBytes = maximumBytes
  }

  func open(_ stream: HTTP2Stream) { self.stream = stream }

  /// Waits for the end of the call, by its answer, its deadline or its task's cancellation.
  func wait(until deadline: Deadline?) async {
    guard !isDone else { return }
    if let deadline {
      timer.onFire = { [unowned self] in abandon(.deadlineExceeded) }
      loop.arm(timer, at: MonotonicInstant(nanoseconds: deadline.monotonicNanoseconds))
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { if isDone { $0.resume() } else { continuation = $0 } }
    } onCancel: {
      loop.execute { self.abandon(RPCError(.cancelled, "the call was cancelled")) }
    }
  }

  private func abandon(_ error: RPCError) {
    guard !isDone else { return }
    finish(.failure(error))
    stream?.reset(.cancel)
    stream = nil
  }

  private func finish(_ outcome: Outcome) {
    guard !isDone else { return }
    isDone = true
    self.outcome = outcome
    loop.disarm(timer)
    continuation?.resume()
    continuation = nil
  }

  // MARK: The stream's events

  func streamReceivedHeaders(_ stream: HTTP2Stream) {
    // What something else than a gRPC server answers is not worth waiting for, and its body is no message.
    if stream.trailers == nil, let error = GRPCResponseReader.refusal(stream.headers) { abandon(error) }
  }

  func streamReceivedData(_ stream: HTTP2Stream) {
    guard !isDone else { return }
    switch GRPCFrame.parse(stream.inbound.bytes, maximumBytes: maximumBytes) {
    case .tooLarge(let size): return abandon(.messageTooLarge(size, limit: maximumBytes))
    case .complete(let frame) where frame.end < stream.inbound.count:
      return abandon(RPCError(.unimplemented, "the server sent more than one response"))
    case .complete, .incomplete, .empty: break
    }
    stream.openWindow(stream.unopenedBytes)
  }

  func streamReceivedEnd(_ stream: HTTP2Stream) { finish(GRPCResponseReader.outcome(stream, maximumBytes: maximumBytes)) }

  func streamDrained(_ stream: HTTP2Stream) {}

  func streamClosed(_ stream: HTTP2Stream, _ error: HTTP2ErrorCode) {
    self.stream = nil
    if error == .refusedStream {
      finish(.unprocessed(RPCError(.unavailable, "the server refused the stream")))
    } else {
      finish(.failure(GRPCResponseReader.error(forReset: error, connection: stream.connection)))
    }
  }
}
