import EventLoop
import MessagesCore
import RPCServer
import TestSupport
import Testing

/// Messages made to break the decoder, through the whole server: each gets a clean error, and the server serves on.
@Suite("Hostile messages")
struct HostileMessageTests {
  private static func varint(_ value: Int) -> [UInt8] {
    var value = value
    var bytes: [UInt8] = []
    while value >= 128 {
      bytes.append(UInt8(value & 127 | 128))
      value >>= 7
    }
    return bytes + [UInt8(value)]
  }

  /// `levels` messages inside each other, by a path of field numbers below 16 that repeats, in linear time.
  private static func nested(_ path: [UInt8], levels: Int) -> [UInt8] {
    var reversed: [UInt8] = []
    for level in stride(from: levels - 1, through: 0, by: -1) {
      reversed += ([path[level % path.count] << 3 | 2] + varint(reversed.count)).reversed()
    }
    return reversed.reversed()
  }

  private func status(_ method: String, _ message: [UInt8]) async throws -> Int? {
    let answered = Answer()
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, method, message)
      answered.status = try await peer.response(1).status
      answered.body = peer.streams[1]?.body ?? []
      try await peer.probe(3)
      #expect(server.incidents.isEmpty)
      peer.close()
    }
    return answered.status
  }

  // SAFETY: written on one loop and read when the loop has ended.
  private final class Answer: @unchecked Sendable {
    var status: Int?
    var body: [UInt8] = []
  }

  @Test(
    "A tree 10,000 deep is INVALID_ARGUMENT, by each way it can contain itself",
    arguments: [[2], [3], [5], [4, 2], [2, 3, 5]] as [[UInt8]])
  func tree(_ path: [UInt8]) async throws {
    #expect(try await status("EchoTree", Self.nested([1] + path, levels: 10_000)) == 3)
    #expect(try await status("EchoTree", Self.nested([1], levels: 1) + []) == 0)
  }

  @Test("A Struct 10,000 deep is INVALID_ARGUMENT")
  func structure() async throws {
    // request.object = 1, Struct.fields = 1, entry.value = 2, Value.struct_value = 5; and lists of lists: list_value = 6, values = 1.
    #expect(try await status("EchoStruct", Self.nested([1, 1, 2, 5], levels: 10_000)) == 3)
    let lists = Self.nested([6, 1], levels: 10_000)
    let value: [UInt8] = [0x12] + Self.varint(lists.count) + lists
    let entry = [0x0a] + Self.varint(value.count) + value
    #expect(try await status("EchoStruct", [0x0a] + Self.varint(entry.count) + entry) == 3)
  }

  @Test("A file descriptor nested 10,000 deep is INVALID_ARGUMENT")
  func descriptor() async throws {
    // request.file = 1, FileDescriptorProto.message_type = 4, DescriptorProto.nested_type = 3.
    let inner = Self.nested([3], levels: 10_000)
    let type = [0x22] + Self.varint(inner.count) + inner
    #expect(try await status("EchoDescriptor", [0x0a] + Self.varint(type.count) + type) == 3)
  }

  @Test(
    "Invalid UTF-8 is INVALID_ARGUMENT",
    arguments: [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0xc3]] as [[UInt8]])
  func invalidText(_ bytes: [UInt8]) async throws {
    #expect(try await status("Echo", [0x0a, UInt8(bytes.count)] + bytes) == 3)
  }

  @Test(
    "Noise is INVALID_ARGUMENT",
    arguments: [[0x0a], [0x0a, 0xff], [0x0f], [0x00, 0x00], [0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x1c], [0x1b]] as [[UInt8]])
  func noise(_ bytes: [UInt8]) async throws { #expect(try await status("Echo", bytes) == 3) }

  @Test("An unknown group comes back as it went")
  func group() async throws {
    // Field 99 as a group that holds a number and another group.
    let group: [UInt8] = [0x9b, 0x06, 0x08, 0x01, 0x13, 0x14, 0x9c, 0x06]
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "EchoTree", [0x0a, 0x03, 0x0a, 0x01, 0x61] + group)
      let response = try await peer.response(1)
      #expect(response.status == 0)
      #expect(HTTP2Peer.messages(in: response.body) == [[0x0a, 0x03, 0x0a, 0x01, 0x61] + group])
      peer.close()
    }
  }

  @Test("A hundred thousand empty sub-messages are answered or refused, not died of")
  func manyChildren() async throws {
    let children = (0..<100_000).flatMap { _ in [0x1a, 0x00] as [UInt8] }
    let code = try await status("EchoTree", [0x0a] + Self.varint(children.count) + children)
    #expect(code == 0 || code == 8)
  }
}
