import Buffers
import JudgeAPI
import MessagesCore
import MessagesWire
import TestAPI
import WellKnown

/// The message codec: the first byte chooses the message, the rest is its wire format.
///
/// What is decoded is the same after it was encoded and decoded again, in the wire format and, where it has a form there, in JSON.
final class MessageTarget: FuzzTarget {
  private let decoder = MessageDecoder()
  private let encoder = MessageEncoder()

  private static let checks: [@Sendable (MessageTarget, UnsafeRawBufferPointer) -> Void] = [
    { $0.check(Everything.self, $1) },
    { $0.check(ProtobufTestMessagesProto3.TestAllTypesProto3.self, $1) },
    { $0.check(Tree.self, $1) },
    { $0.check(EchoRequest.self, $1) },
    { $0.check(MetadataRequest.self, $1) },
    { $0.check(GoogleProtobuf.Struct.self, $1) },
    { $0.check(GoogleProtobuf.FileDescriptorProto.self, $1) },
    { $0.check(GoogleProtobuf.AnyMessage.self, $1) },
    { $0.check(GoogleRPC.Status.self, $1) },
    { $0.check(GRPCReflectionV1.ServerReflectionResponse.self, $1) },
    { $0.check(ConnectrpcConformanceV1.ClientCompatRequest.self, $1) },
    { $0.check(GoogleProtobuf.Timestamp.self, $1) },
    { $0.check(GoogleProtobuf.FieldMask.self, $1) },
    { $0.check(GRPCTesting.StreamingOutputCallRequest.self, $1) },
  ]

  func run(_ input: UnsafeRawBufferPointer) {
    guard let choice = input.first else { return }
    Self.checks[Int(choice) % Self.checks.count](self, input.from(1))
  }

  private func check<M: Message>(_ type: M.Type, _ bytes: UnsafeRawBufferPointer) {
    guard let first = try? decoder.decode(M.self, from: bytes) else { return }
    let again = expect("a message that was decoded and encoded does not decode again") { try roundTrip(first) }
    if again == first {
      require(again.hashValue == first.hashValue, "equal messages have different hashes")
    } else {
      // NaN equals nothing, itself not excepted, but its bytes stay; maps may change their order.
      require(sortedBytes(of: again) == sortedBytes(of: first), "\(M.descriptor.name) changes on its way through the wire format")
      require(holdsNaN(first), "\(M.descriptor.name) does not equal what has the same bytes")
    }
    MessageJSON.check(first)
  }

  /// All bytes of the message's wire format, in the order of their values.
  private func sortedBytes<M: Message>(of message: M) -> [UInt8] {
    let buffer = ByteBuffer()
    _ = expect("what was encoded once cannot be encoded again") { try encoder.encode(message, into: buffer) }
    return buffer.bytes.sorted()
  }

  /// Whether a number of the message is NaN, wherever it stands: JSON says so in words.
  private func holdsNaN<M: Message>(_ message: M) -> Bool {
    guard let json = try? message.jsonBytes(options: JSONEncodingOptions(registry: MessageJSON.registry)) else { return true }
    return String(decoding: json, as: UTF8.self).contains("\"NaN\"")
  }

  private func roundTrip<M: Message>(_ message: M) throws -> M {
    let buffer = ByteBuffer()
    let count = try encoder.encode(message, into: buffer)
    require(count == buffer.count, "the encoder counts \(count) bytes and writes \(buffer.count)")
    return try decoder.decode(M.self, from: buffer.bytes)
  }
}
