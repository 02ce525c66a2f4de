import EventLoop
import Glibc
import Outbound
import Synchronization
import TestSupport

/// A ``FakeGoogle`` over HTTP/1.1 on loopback. Each connection has a thread, so that nothing blocks the tests' own.
final class FakeGoogleServer: Sendable {
  let google: FakeGoogle
  let port: UInt16
  private let listener: Int32
  private let open = Mutex<Set<Int32>>([])
  private let threads = Mutex<[LoopThread]>([])

  init(_ google: FakeGoogle) throws {
    self.google = google
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.listener = listener
    let address = try SocketAddress("127.0.0.1:0")
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let bound = address.withSockaddr { bind(listener, $0, $1) }
    let listening = listen(listener, 64)
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    guard bound == 0, listening == 0, named == 0 else { throw EventLoopError(.systemCall, "no stand-in", errno: errno) }
    port = withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0)?.port ?? 0 }
    }
    let thread = LoopThread(name: "fake-google") { [self] in accept() }
    threads.withLock { $0.append(thread) }
  }

  var url: String { "http://127.0.0.1:\(port)" }

  /// Ends all connections and waits for their threads. Blocks.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    google.release()
    for descriptor in open.withLock({ $0 }) { shutdown(descriptor, Int32(SHUT_RDWR)) }
    for thread in threads.withLock({ $0 }) { thread.join() }
    close(listener)
  }

  private func accept() {
    while case let descriptor = Glibc.accept(listener, nil, nil), descriptor >= 0 {
      open.withLock { _ = $0.insert(descriptor) }
      let thread = LoopThread(name: "fake-google") { [self] in
        serve(descriptor)
        open.withLock { _ = $0.remove(descriptor) }
        close(descriptor)
      }
      threads.withLock { $0.append(thread) }
    }
  }

  private func serve(_ descriptor: Int32) {
    var input: [UInt8] = []
    while let (path, body, headers) = request(descriptor, &input) {
      let response: HTTPResponse
      switch google.fault(path) {
      case .none: response = google.answer(path, body, headers)
      case .status(let status, let text): response = HTTPResponse(status: status, body: Array(text.utf8))
      case .hang:
        google.hanging.fire()
        // Nothing is ever said; the connection ends when the caller gives up or the test does.
        var byte: UInt8 = 0
        _ = recv(descriptor, &byte, 1, 0)
        return
      }
      var head = "HTTP/1.1 \(response.status) X\r\nContent-Length: \(response.body.count)\r\n"
      for field in response.headers { head += "\(field.name): \(field.value)\r\n" }
      let bytes = Array((head + "\r\n").utf8) + response.body
      guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
    }
  }

  private func request(_ descriptor: Int32, _ input: inout [UInt8]) -> (
    path: String, body: [UInt8], headers: HTTPHeaders
  )? {
    let end = Array("\r\n\r\n".utf8)
    while true {
      if let head = input.indices.first(where: { input[$0...].starts(with: end) }) {
        let text = String(decoding: input[..<head], as: UTF8.self)
        let lines = text.split(separator: "\r\n")
        let length =
          lines.first { $0.lowercased().hasPrefix("content-length:") }
          .flatMap { Int($0.drop { !$0.isNumber }) } ?? 0
        if input.count >= head + 4 + length {
          let body = Array(input[(head + 4)..<(head + 4 + length)])
          input.removeFirst(head + 4 + length)
          var headers = HTTPHeaders()
          for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { headers.add(String(parts[0]), String(parts[1].drop { $0 == " " })) }
          }
          // A query is only for the fake without a network.
          return (String(lines[0].split(separator: " ")[1].split(separator: "?")[0]), body, headers)
        }
      }
      var buffer = [UInt8](repeating: 0, count: 16_384)
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      input.append(contentsOf: buffer[..<count])
    }
  }
}
