import Glibc

/// The driver's end of a connection: what it says and what it hears, never waiting.
struct SocketEnd: ~Copyable {
  private(set) var descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

  /// One of two joined sockets that do not block; the other one, for our side, is put into `ours`.
  static func joined(to ours: inout Int32) -> SocketEnd {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    require(socketpair(AF_UNIX, kind, 0, &ends) == 0, "no pair of sockets")
    ours = ends[0]
    return SocketEnd(ends[1])
  }

  /// Sends what the socket takes, and returns how many bytes that is; nil once the other end is gone.
  borrowing func send(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard !bytes.isEmpty else { return 0 }
    let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    if count < 0 { return errno == EAGAIN ? 0 : nil }
    return count
  }

  /// Reads all that there is.
  ///
  /// - Returns: Whether the other end has closed.
  borrowing func receive(_ body: (UnsafeRawBufferPointer) -> Void) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 16) { buffer in
      while true {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        guard count > 0 else { return count == 0 || errno != EAGAIN }
        body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
    }
  }

  /// Says that nothing more comes.
  borrowing func finish() { shutdown(descriptor, Int32(SHUT_WR)) }
}
