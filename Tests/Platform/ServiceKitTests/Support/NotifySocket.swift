import EventLoop
import Glibc
import TestSupport
import Testing

/// systemd's end of the notification protocol, for a service in a process of its own.
final class NotifySocket: Sendable {
  let name = "/tmp/servicekit-notify-\(UInt64.random(in: .min ... .max))"
  private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)

  init() throws {
    let address = SocketAddress(.unix(path: name))
    try #require(address.withSockaddr { bind(descriptor, $0, $1) } == 0)
  }

  deinit {
    close(descriptor)
    unlink(name)
  }

  /// Waits for a message that begins so, and forgets those before it.
  func wait(for text: String, within limit: Duration = .seconds(20)) async throws {
    try await onPool { [self] in
      let deadline = MonotonicInstant.now().advanced(by: limit)
      while MonotonicInstant.now() < deadline {
        if let message = next(milliseconds: 100), message.hasPrefix(text) { return }
      }
      throw TimedOut("no \(text)")
    }
  }

  /// Waits for a time without any message.
  func silence(for length: Duration, within limit: Duration) async throws {
    try await onPool { [self] in
      let deadline = MonotonicInstant.now().advanced(by: limit)
      var since = MonotonicInstant.now()
      while MonotonicInstant.now() < deadline {
        if next(milliseconds: 50) != nil { since = .now() }
        if MonotonicInstant.now().duration(since: since) >= length { return }
      }
      throw TimedOut("\(length) without a message")
    }
  }

  private func onPool(_ body: @escaping @Sendable () throws -> Void) async throws { try await DemoProcess.pool.run(body) }

  private func next(milliseconds: Int32) -> String? {
    var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&wanted, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
    return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
  }
}
