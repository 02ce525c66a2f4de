import MessagesCore
import MessagesWire
import TestAPI
import Testing
import WellKnown

@Suite("What a message does not know survives, and what it gets twice merges")
struct UnknownFieldTests {
  @Test(
    "An unknown field of every wire type is kept byte for byte",
    arguments: [
      Wire.number(900, 1 << 60), Wire.tag(900, 1) + [1, 2, 3, 4, 5, 6, 7, 8], Wire.field(900, [1, 2, 3]), Wire.field(900, []),
      Wire.tag(900, 5) + [1, 2, 3, 4], Wire.tag(900, 3) + Wire.number(1, 5) + Wire.tag(2, 3) + Wire.tag(2, 4) + Wire.tag(900, 4),
      Wire.field(19_999, [1, 2]), Wire.number(19_999, 1), Wire.number(900, 1) + Wire.number(901, 2) + Wire.field(902, [9]),
    ])
  func kept(bytes: [UInt8]) throws {
    let message = try EchoRequest(protobuf: Wire.text(1, "known") + bytes)
    #expect(message.text == "known")
    #expect(message.unknownFields.bytes == bytes)
    #expect(try message.protobufBytes() == Wire.text(1, "known") + bytes)
  }

  @Test("An unknown group inside a sub-message stays there")
  func nestedGroup() throws {
    let group = Wire.tag(9, 3) + Wire.field(1, [1]) + Wire.tag(9, 4)
    let tree = try Tree(protobuf: Wire.field(3, Wire.field(2, group + Wire.text(1, "x"))) + Wire.text(1, "root"))
    #expect(tree.label == "root")
    #expect(tree.children.first?.left?.label == "x")
    #expect(tree.children.first?.left?.unknownFields.bytes == group)
    #expect(try Tree(protobuf: tree.protobufBytes()) == tree)
  }

  @Test(
    "A known field with another wire type is unknown",
    arguments: [Wire.field(3, [1]), Wire.tag(1, 5) + [0, 0, 0, 0], Wire.number(2, 5)])
  func wireTypeMismatch(bytes: [UInt8]) throws {
    let message = try EchoRequest(protobuf: bytes + Wire.number(3, 7))
    #expect(message.unknownFields.bytes == bytes)
    #expect(message.sequence == 7 && message.text == "")
  }

  @Test(
    "The tag of an unknown field is written in as few bytes as it needs, so that the message is the same after another turn",
    arguments: [
      // Of a known field with another wire type, of an unknown one, and of a group.
      ([0xa5, 0x00, 1, 2, 3, 4], [0x25, 1, 2, 3, 4]), ([0x88, 0x80, 0x00, 5], [0x08, 5]),
      ([0xfd, 0x80, 0x00, 1, 2, 3, 4], [0x7d, 1, 2, 3, 4]), ([0x8b, 0x00, 0x8c, 0x00], [0x0b, 0x8c, 0x00]),
    ] as [([UInt8], [UInt8])])
  func longTag(bytes: [UInt8], expected: [UInt8]) throws {
    let message = try GRPCReflectionV1.ServerReflectionResponse(protobuf: bytes)
    #expect(message.unknownFields.bytes == expected)
    #expect(try message.protobufBytes() == expected)
    #expect(try GRPCReflectionV1.ServerReflectionResponse(protobuf: message.protobufBytes()) == message)
  }

  @Test("A sub-message that comes twice is merged, and scalars of the first part stay")
  func merge() throws {
    let first = Wire.field(17, Wire.number(1, 7) + Wire.text(3, "first"))
    let second = Wire.field(17, Wire.text(3, "second"))
    let inner = try #require(try Everything(protobuf: first + Wire.number(1, 1) + second).inner)
    #expect(inner == Everything.Inner(number: 7, text: "second"))
  }

  @Test("A oneof's message merges with itself, but not across another member")
  func oneofMerge() throws {
    let number = Wire.field(64, Wire.number(1, 7))
    let text = Wire.field(64, Wire.text(3, "t"))
    let other = Wire.field(65, Wire.number(1, 9))
    #expect(try Everything(protobuf: number + text).choice == .choiceInner(.init(number: 7, text: "t")))
    #expect(try Everything(protobuf: number + other + text).choice == .choiceInner(.init(text: "t")))
    #expect(try Everything(protobuf: number + text + other).choice == .choiceOther(.init(number: 9)))
    #expect(try Everything(protobuf: number + Wire.number(61, 5) + text).choice == .choiceInner(.init(text: "t")))
  }

  @Test("The last of a oneof's members wins whatever came before")
  func lastMember() throws {
    let members: [([UInt8], Everything.Choice)] = [
      (Wire.number(61, 5), .choiceInt32(5)), (Wire.text(62, "s"), .choiceString("s")), (Wire.field(63, [1]), .choiceBytes([1])),
      (Wire.field(64, []), .choiceInner(.init())), (Wire.tag(66, 1) + [0, 0, 0, 0, 0, 0, 0, 0x40], .choiceDouble(2)),
      (Wire.number(68, 1), .choiceBool(true)), (Wire.field(63, []), .choiceBytes([])),
    ]
    for (before, _) in members {
      for (last, choice) in members where last != before {
        #expect(try Everything(protobuf: before + last).choice == choice)
      }
    }
  }
}
