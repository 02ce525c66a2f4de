internal import CCurl
internal import EventLoop

/// What an attempt sends piece by piece: one piece is held here, and the next one is asked for once libcurl has taken it.
// SAFETY: touched on the loop only.
final class OutgoingBody: @unchecked Sendable {
  private let upload: HTTPUpload
  private var piece: [UInt8] = []
  private var position = 0
  /// Bytes of all pieces so far.
  private var received: Int64 = 0
  private var isOver = false
  private var isWaitedFor = false
  private var room: CheckedContinuation<Void, Never>?
  private var task: Task<Void, Never>?
  /// Why there is no more to send, where that is a mistake.
  private(set) var failure: String?

  init(_ upload: HTTPUpload) { self.upload = upload }

  /// Begins to ask for pieces; `goOn` is called when libcurl had to wait and need not any more.
  func start(on loop: EventLoop, goOn: @escaping @Sendable () -> Void) {
    task = loop.spawn { [self] in
      do {
        let next = try await upload.open()
        while failure == nil, let piece = try await next() {
          take(piece)
          wake(goOn)
          await makeRoom()
          if Task.isCancelled { return }
        }
        end()
      } catch {
        failure = failure ?? "the body broke off: \(type(of: error))"
      }
      wake(goOn)
    }
  }

  /// Nobody reads any more.
  func stop() {
    task?.cancel()
    task = nil
    room?.resume()
    room = nil
  }

  /// What libcurl asks for: bytes copied, 0 at the end, or one of its words for "later" and "never".
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if failure != nil { return parley_curl_read_abort }
    let count = min(buffer.count, piece.count - position)
    guard count > 0 else {
      guard !isOver else { return 0 }
      isWaitedFor = true
      return parley_curl_read_pause
    }
    piece.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count])) }
    position += count
    if position == piece.count {
      room?.resume()
      room = nil
    }
    return count
  }

  private func take(_ piece: [UInt8]) {
    received += Int64(piece.count)
    guard received <= upload.size else {
      failure = "the body has more than the \(upload.size) bytes that were announced"
      return
    }
    self.piece = piece
    position = 0
  }

  private func end() {
    isOver = true
    if received < upload.size, failure == nil {
      failure = "the body has \(received) of the \(upload.size) bytes that were announced"
    }
  }

  private func makeRoom() async {
    guard failure == nil, position < piece.count, !Task.isCancelled else { return }
    await withCheckedContinuation { room = $0 }
  }

  private func wake(_ goOn: () -> Void) {
    guard isWaitedFor, failure != nil || isOver || position < piece.count else { return }
    isWaitedFor = false
    goOn()
  }
}
