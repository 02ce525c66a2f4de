import Buffers
import MessagesCore
import MessagesWire
import TestAPI
import Testing
import WellKnown

@Suite("A message survives a round trip over the wire")
struct RoundTripTests {
  @Test("Every kind of field comes back as it was")
  func everything() throws {
    let bytes = try Everything.sample.protobufBytes()
    #expect(try Everything(protobuf: bytes) == Everything.sample)
  }

  @Test("An empty message takes no bytes, and no bytes are an empty message")
  func empty() throws {
    #expect(try Everything().protobufBytes() == [])
    #expect(try Everything(protobuf: []) == Everything())
    #expect(Everything().unknownFields.isEmpty)
  }

  @Test(
    "Each member of a oneof comes back",
    arguments: [
      Everything.Choice.choiceInt32(0), .choiceString(""), .choiceString("s"), .choiceBytes([1]), .choiceBytes([]),
      .choiceInner(.init()), .choiceOther(.init(number: 1)), .choiceDouble(-0.0), .choiceMood(.unrecognized(7)),
      .choiceBool(false),
    ])
  func oneof(choice: Everything.Choice) throws {
    let message = Everything(choice: choice)
    #expect(try Everything(protobuf: message.protobufBytes()).choice == choice)
  }

  @Test("Negative zero is not the default, so it is sent")
  func negativeZero() throws {
    var message = Everything()
    message.doubleValue = -0.0
    message.floatValue = -0.0
    let bytes = try message.protobufBytes()
    #expect(bytes.count == 9 + 5)
    let back = try Everything(protobuf: bytes)
    #expect(back.doubleValue.sign == .minus && back.floatValue.sign == .minus)
  }

  @Test(
    "The encoding is the one the specification gives",
    arguments: [
      (Everything(int32Value: 150), [0x08, 0x96, 0x01]),
      (Everything(stringValue: "testing"), [0x72, 0x07] + Array("testing".utf8)),
      (Everything(sint32Value: -2), [0x28, 0x03]),
      (Everything(int32Values: [3, 270, 86942]), [0xfa, 0x01, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05]),
      (Everything(unpackedValues: [1, 2]), [0xa8, 0x02, 0x01, 0xa8, 0x02, 0x02]),
    ] as [(Everything, [UInt8])])
  func encoding(message: Everything, expected: [UInt8]) throws {
    #expect(try message.protobufBytes() == expected)
  }

  @Test("Packed and unpacked elements are read either way")
  func packing() throws {
    let unpacked = Wire.number(31, 1) + Wire.number(31, 2)
    let packed = Wire.field(37, [3, 4])
    let message = try Everything(protobuf: unpacked + packed + Wire.field(31, [5]))
    #expect(message.int32Values == [1, 2, 5])
    #expect(message.unpackedValues == [3, 4])
  }

  @Test("The last entry of a map wins, and an entry without key or value has their defaults")
  func maps() throws {
    let entry = { (key: String, value: String) in Wire.field(51, Wire.text(1, key) + Wire.text(2, value)) }
    let message = try Everything(protobuf: entry("a", "1") + entry("a", "2") + Wire.field(51, []) + Wire.field(52, []))
    #expect(message.textByText == ["a": "2", "": ""])
    #expect(message.innerByNumber == [0: Everything.Inner()])
  }

  @Test("A message that contains itself in every way comes back")
  func recursion() throws {
    var tree = Tree(label: "root")
    tree.left = Tree(label: "left", hanging: .tree(Tree(label: "hanging")))
    tree.children = [Tree(), Tree(label: "child", left: Tree(label: "deep"))]
    tree.named = ["a": Tree(label: "named", hanging: .number(5))]
    #expect(try Tree(protobuf: tree.protobufBytes()) == tree)
  }

  @Test("A body above the sharing threshold comes back, at the edge and beyond", arguments: [4095, 4096, 4097, 1 << 20])
  func largeBody(size: Int) throws {
    let body = Bytes((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let request = EchoRequest(text: String(repeating: "x", count: size), body: body, sequence: 1)
    let decoder = MessageDecoder()
    let bytes = try request.protobufBytes()
    let first = try bytes.withUnsafeBytes { try decoder.decode(EchoRequest.self, from: $0) }
    // The decoder's memory is used again; what it handed out must not change.
    _ = try EchoRequest(body: Bytes(repeatElement(7, count: size))).protobufBytes().withUnsafeBytes {
      try decoder.decode(EchoRequest.self, from: $0)
    }
    #expect(first == request)
  }

  @Test("An encoder appends behind what the buffer holds")
  func appends() throws {
    let buffer = ByteBuffer(capacity: 16)
    let encoder = MessageEncoder()
    for number in 0..<100 {
      buffer.append(contentsOf: [0, 0, 0, 0, 0])
      let start = buffer.count
      let count = try encoder.encode(EchoRequest(text: "hello", sequence: Int64(number)), into: buffer)
      buffer.overwrite(bigEndian: UInt32(count), at: start - 4)
    }
    buffer.withUnsafeBytes { bytes in
      var at = 0
      for number in 0..<100 {
        let length = Int(bytes[at + 3]) << 8 | Int(bytes[at + 4])
        let message = try? EchoRequest(protobuf: bytes[(at + 5)..<(at + 5 + length)])
        #expect(message == EchoRequest(text: "hello", sequence: Int64(number)))
        at += 5 + length
      }
      #expect(at == bytes.count)
    }
  }

  @Test("A file descriptor of the compiler comes back")
  func descriptor() throws {
    var file = GoogleProtobuf.FileDescriptorProto(name: "a.proto", package: "a", syntax: "proto3")
    file.messageType = [
      GoogleProtobuf.DescriptorProto(name: "M", field: [.init(name: "f", number: 1, label: .optional, type: .string)])
    ]
    #expect(try GoogleProtobuf.FileDescriptorProto(protobuf: file.protobufBytes()) == file)
  }
}
