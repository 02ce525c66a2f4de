import EventLoop
import Glibc
import TestSupport

/// A hostile peer: one blocking thread that does nothing but send its flood, and takes in what comes back.
enum Attacker {
  /// Attacks, on one connection after the other, until `duration` has passed.
  ///
  /// - Returns: How the connections ended; at least one.
  static func run(_ flood: Flood, against address: SocketAddress, for duration: Duration = .seconds(1)) async -> [Ending] {
    let end = MonotonicInstant.now().advanced(by: duration)
    return await onThread {
      var endings: [Ending] = []
      repeat {
        var connection = Connection(to: address)
        endings.append(connection.attack(flood))
      } while MonotonicInstant.now() < end
      return endings
    }
  }

  /// Runs `body` on a thread that ends with it, so that it may block.
  static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    var thread: LoopThread?
    let value = await withUnsafeContinuation { continuation in
      thread = LoopThread(name: "attacker") { continuation.resume(returning: body()) }
    }
    thread?.join()
    return value
  }

  /// One hostile connection.
  private struct Connection {
    private static let chunkBytes = 32 << 10
    /// How long the server may take to close a connection that it must close, or the kernel to take bytes.
    private static let patience: Int32 = 15_000

    private let descriptor: Int32
    private var ending = Ending()
    private var input: [UInt8] = []

    init(to address: SocketAddress) {
      descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      precondition(address.withSockaddr { connect(descriptor, $0, $1) } == 0, "the server takes no connection")
      _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// Sends everything, then waits for the server to close.
    mutating func attack(_ flood: Flood) -> Ending {
      defer { close(descriptor) }
      let acknowledgement = HTTP2Frame(.settings, flags: HTTP2Frame.acknowledgement)
      var chunk = HTTP2Frame.preface + HTTP2Frame.settings(flood.settings).bytes + acknowledgement.bytes + flood.opening
      var number = 0
      while !chunk.isEmpty, send(chunk, reads: flood.reads) {
        ending.units = number
        chunk.removeAll(keepingCapacity: true)
        while number < flood.units, chunk.count < Self.chunkBytes {
          chunk += flood.unit(number)
          number += 1
        }
      }
      // The end of the connection, or of patience.
      while !ending.isClosed, wait(for: flood.reads ? POLLIN : 0) != 0 { if !read() { break } }
      return ending
    }

    /// Sends a chunk; false once nothing more can be sent.
    private mutating func send(_ chunk: [UInt8], reads: Bool) -> Bool {
      var offset = 0
      while offset < chunk.count {
        let ready = wait(for: POLLOUT | (reads ? POLLIN : 0))
        if ready == 0 { return false }
        if ready & POLLIN != 0 || ready & Self.gone != 0 { guard read() else { return false } }
        guard ready & POLLOUT != 0 else { continue }
        let count = chunk.withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress! + offset, $0.count - offset, Int32(MSG_NOSIGNAL))
        }
        if count > 0 { offset += count } else if errno != EAGAIN { return drain() }
      }
      return true
    }

    private static var gone: Int32 { POLLHUP | POLLERR | 0x2000 }

    /// What the socket is ready for; 0 when patience is over.
    private func wait(for events: Int32) -> Int32 {
      var entry = pollfd(fd: descriptor, events: Int16(events | 0x2000), revents: 0)
      let count = poll(&entry, 1, Self.patience * Int32(Scale.time))
      return count > 0 ? Int32(entry.revents) : 0
    }

    /// Reads what there is; false at the end of the connection.
    private mutating func read() -> Bool {
      var buffer = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count > 0 {
          input += buffer[..<count]
          parse()
        } else if count < 0 && errno == EAGAIN {
          return true
        } else {
          ending.isClosed = true
          return false
        }
      }
    }

    /// The socket takes nothing more: what the server said before is still there. Always false.
    private mutating func drain() -> Bool {
      while read(), wait(for: POLLIN) != 0 {}
      return false
    }

    private mutating func parse() {
      var offset = 0
      while input.count - offset >= 9 {
        let length = Int(input[offset]) << 16 | Int(input[offset + 1]) << 8 | Int(input[offset + 2])
        guard input.count - offset >= 9 + length else { break }
        let payload = offset + 9..<offset + 9 + length
        switch HTTP2Frame.Kind(rawValue: input[offset + 3]) {
        case .goaway:
          ending.code = input[payload.lowerBound + 4..<payload.lowerBound + 8].reduce(0) { $0 << 8 | UInt32($1) }
          ending.debug = String(decoding: input[payload.lowerBound + 8..<payload.upperBound], as: UTF8.self)
        case .reset: ending.resets += 1
        default: break
        }
        offset = payload.upperBound
      }
      input.removeFirst(offset)
    }
  }
}
