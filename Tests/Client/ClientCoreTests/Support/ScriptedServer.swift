import Foundation
import Glibc
import Synchronization

/// An HTTP/1.1 server that does with each request exactly what a test says. It has threads of its own, so its waits hold up no test.
final class ScriptedServer: Sendable {
  /// A request as it came.
  struct Request: Sendable {
    var verb = ""
    var target = ""
    var headers: [String: String] = [:]
    var body: [UInt8] = []

    var bodyText: String { String(decoding: body, as: UTF8.self) }
  }

  /// The server's end of a connection.
  struct Connection: Sendable {
    let descriptor: CInt

    /// Sends bytes; a peer that is gone is no error.
    func send(_ bytes: [UInt8]) {
      var sent = 0
      while sent < bytes.count {
        let step = bytes[sent...].withUnsafeBytes {
          Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
        }
        guard step > 0 else { return }
        sent += step
      }
    }

    /// Sends a whole response; the connection ends behind it.
    func respond(_ status: Int, _ headers: [String] = [], _ body: String) {
      respond(status, headers, Array(body.utf8))
    }

    /// Sends a whole response; the connection ends behind it.
    func respond(_ status: Int, _ headers: [String], _ body: [UInt8]) {
      begin(status, headers + ["content-length: \(body.count)"])
      send(body)
    }

    /// Sends a head; the body ends with the connection unless a header says otherwise.
    func begin(_ status: Int, _ headers: [String]) {
      let lines = ["HTTP/1.1 \(status) Scripted", "connection: close"] + headers
      send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    }

    /// Waits until the peer has gone.
    func waitForEnd() {
      var byte: UInt8 = 0
      while recv(descriptor, &byte, 1, 0) > 0 {}
    }
  }

  let port: UInt16
  private let listener: CInt
  private let received = Mutex<[Request]>([])

  /// The requests so far.
  var requests: [Request] { received.withLock { $0 } }

  /// The address to call.
  var url: URL { URL(string: "http://127.0.0.1:\(port)")! }

  init(_ answer: @escaping @Sendable (Request, Connection) -> Void) throws {
    let listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isReady = withUnsafeMutableBytes(of: &address) { raw in
      let pointer = raw.assumingMemoryBound(to: sockaddr.self).baseAddress!
      return bind(listener, pointer, size) == 0 && listen(listener, 64) == 0 && getsockname(listener, pointer, &size) == 0
    }
    guard isReady else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { break }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        Thread.detachNewThread { [self] in
          if let request = Self.read(descriptor) {
            received.withLock { $0.append(request) }
            answer(request, Connection(descriptor: descriptor))
          }
          Glibc.close(descriptor)
        }
      }
      Glibc.close(listener)
    }
  }

  /// Stops to listen.
  func close() {
    shutdown(listener, CInt(SHUT_RDWR))
  }

  private static func read(_ descriptor: CInt) -> Request? {
    var bytes: [UInt8] = []
    var head: Range<Int>?
    var request = Request()
    var expected = Int.max
    while bytes.count < expected {
      var chunk = [UInt8](repeating: 0, count: 1 << 16)
      let count = recv(descriptor, &chunk, chunk.count, 0)
      guard count > 0 else { return nil }
      bytes += chunk[..<count]
      guard head == nil, let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else { continue }
      head = 0..<end
      let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
      let first = lines[0].split(separator: " ")
      (request.verb, request.target) = (String(first[0]), String(first[1]))
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        request.headers[parts[0].lowercased()] = parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      }
      expected = end + 4 + (request.headers["content-length"].flatMap(Int.init) ?? 0)
      if request.headers["expect"] != nil { Connection(descriptor: descriptor).send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
    }
    request.body = Array(bytes[(head!.upperBound + 4)...])
    return request
  }
}

/// Streams as the Connect protocol writes them.
enum Enveloped {
  static func bytes(_ json: String, flags: UInt8 = 0) -> [UInt8] {
    let content = Array(json.utf8)
    return [flags] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: content.count >> $0) } + content
  }

  static func end(_ json: String = "{}") -> [UInt8] { bytes(json, flags: 2) }
}
