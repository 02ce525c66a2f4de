internal import EventLoop
internal import Synchronization

/// What has arrived and nobody has read. libcurl is paused while there is enough of it.
final class IncomingBody: Sendable {
  private struct State {
    var pieces: [[UInt8]] = []
    var size = 0
    var isPaused = false
    var end: Result<Void, OutboundError>?
    var reader: CheckedContinuation<Void, Never>?
  }

  /// Bytes that are held before the peer is held back. One piece of libcurl's (16 KiB) may come on top.
  static let capacity = 256 << 10

  private let state = Mutex(State())
  private let goOn: @Sendable () -> Void

  /// Nothing has arrived; `goOn` is called from anywhere when a pause is over.
  init(goOn: @escaping @Sendable () -> Void) { self.goOn = goOn }

  /// Takes bytes, or says that it cannot now.
  func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let (isTaken, reader) = state.withLock { state -> (Bool, CheckedContinuation<Void, Never>?) in
      guard state.size < Self.capacity else {
        state.isPaused = true
        return (false, nil)
      }
      state.pieces.append(
        [UInt8](unsafeUninitializedCapacity: bytes.count) { piece, count in
          UnsafeMutableRawBufferPointer(piece).copyMemory(from: bytes)
          count = bytes.count
        })
      state.size += bytes.count
      defer { state.reader = nil }
      return (true, state.reader)
    }
    reader?.resume()
    return isTaken
  }

  /// Nothing more will come.
  func end(_ result: Result<Void, OutboundError>) {
    let reader = state.withLock { state in
      state.end = state.end ?? result
      defer { state.reader = nil }
      return state.reader
    }
    reader?.resume()
  }

  /// Whole pieces are copied, not bytes: `Array(pieces.joined())` goes byte by byte where nothing is optimized.
  private static func joined(_ pieces: [[UInt8]]) -> [UInt8] {
    guard pieces.count > 1 else { return pieces[0] }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(pieces.reduce(0) { $0 + $1.count })
    for piece in pieces { bytes += piece }
    return bytes
  }

  func next() async throws(OutboundError) -> [UInt8]? {
    while true {
      let (pieces, end, mayGoOn) = state.withLock { state -> ([[UInt8]], Result<Void, OutboundError>?, Bool) in
        guard !state.pieces.isEmpty else { return ([], state.end, false) }
        defer { (state.pieces, state.size, state.isPaused) = ([], 0, false) }
        return (state.pieces, nil, state.isPaused)
      }
      if mayGoOn { goOn() }
      if !pieces.isEmpty { return Self.joined(pieces) }
      if let end {
        try end.get()
        return nil
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let isLate = state.withLock { state in
            guard state.pieces.isEmpty, state.end == nil else { return true }
            state.reader = continuation
            return false
          }
          if isLate { continuation.resume() }
        }
      } onCancel: {
        self.end(.failure(OutboundError(.cancelled, "the reader was cancelled")))
      }
    }
  }
}
