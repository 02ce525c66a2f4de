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
    // A message that holds NaN equals nothing, itself not excepted.
    if first == first {
      require(again == first, "\(M.descriptor.name) changes on its way through the wire format")
      require(again.hashValue == first.hashValue, "equal messages have different hashes")
    }
    MessageJSON.check(first)
  }

  private func roundTrip<M: Message>(_ message: M) throws -> M {
    let buffer = ByteBuffer()
    let count = try encoder.encode(message, into: buffer)
    require(count == buffer.count, "the encoder counts \(count) bytes and writes \(buffer.count)")
    return try decoder.decode(M.self, from: buffer.bytes)
  }
}
