extension HTTP2Peer {
  /// The headers of a gRPC request, as a block.
  public static func grpcHeaders(_ method: String, _ extra: [(String, String)] = []) -> [UInt8] {
    HPACK.block(
      [
        (":method", "POST"), (":scheme", "http"), (":path", "/parley.testing.v1.EchoService/\(method)"), (":authority", "test"),
        ("te", "trailers"), ("content-type", "application/grpc"),
      ] + extra)
  }

  /// The headers of a plain request, as a block.
  public static func httpHeaders(_ method: String, _ path: String, _ extra: [(String, String)] = []) -> [UInt8] {
    HPACK.block([(":method", method), (":scheme", "http"), (":path", path), (":authority", "test")] + extra)
  }

  /// A message with its prefix.
  public static func message(_ bytes: [UInt8], flags: UInt8 = 0) -> [UInt8] {
    [flags] + HTTP2Frame.number(UInt32(bytes.count)) + bytes
  }

  /// The messages in a body, without their prefixes; a cut-off one is left out.
  public static func messages(in body: [UInt8]) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    var offset = 0
    while body.count - offset >= 5 {
      let count = body[(offset + 1)..<(offset + 5)].reduce(0) { $0 << 8 | Int($1) }
      guard body.count - offset - 5 >= count else { break }
      messages.append(Array(body[(offset + 5)..<(offset + 5 + count)]))
      offset += 5 + count
    }
    return messages
  }

  /// Sends a unary request whole, its body in frames of at most 16 KiB.
  public func call(_ stream: UInt32, _ method: String, _ message: [UInt8] = [], headers: [(String, String)] = []) {
    send(.headers(stream, Self.grpcHeaders(method, headers)))
    sendBody(stream, Self.message(message))
  }

  /// Sends a body in frames of at most 16 KiB, without regard to windows.
  public func sendBody(_ stream: UInt32, _ bytes: [UInt8], ends: Bool = true) {
    var offset = 0
    repeat {
      let end = min(offset + 16_384, bytes.count)
      send(.data(stream, Array(bytes[offset..<end]), ends: ends && end == bytes.count))
      offset = end
    } while offset < bytes.count
  }

  /// Makes one `Echo` on `stream` and checks that it works: the server serves on.
  public func probe(_ stream: UInt32) async throws {
    call(stream, "Echo", [0x0a, 0x02, 0x68, 0x69])
    let response = try await response(stream)
    guard response.status == 0, Self.messages(in: response.body) == [[0x0a, 0x02, 0x68, 0x69]] else {
      throw TimedOut("the server answers \(response) to an echo")
    }
  }
}
