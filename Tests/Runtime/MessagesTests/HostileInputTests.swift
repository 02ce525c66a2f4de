import MessagesCore
import MessagesWire
import TestAPI
import Testing
import WellKnown

@Suite("Hostile bytes are refused and cost little")
struct HostileInputTests {
  @Test("Nesting of 100 levels is read, 101 are refused", arguments: [2, 3, 5])
  func depthEdge(field: Int) throws {
    _ = try Tree(protobuf: Wire.nested(UInt32(field), levels: 100))
    #expect(throws: DecodeError.self) { try Tree(protobuf: Wire.nested(UInt32(field), levels: 101)) }
    #expect(code { try Tree(protobuf: Wire.nested(UInt32(field), levels: 101)) } == .tooDeep)
  }

  @Test("10,000 and 100,000 levels of a tree are an error, not a crash", arguments: [10_000, 100_000])
  func deepTree(levels: Int) {
    #expect(code { try Tree(protobuf: Wire.nested(2, levels: levels)) } == .tooDeep)
    #expect(code { try Tree(protobuf: Wire.nested(3, levels: levels)) } == .tooDeep)
    // Through a map: entry, value, entry, value.
    #expect(code { try Tree(protobuf: Wire.nested(path: [4, 2], levels: levels)) } == .tooDeep)
  }

  @Test("10,000 levels of google.protobuf.Struct are an error, not a crash")
  func deepStruct() {
    // Struct.fields (1) → entry.value (2) → Value.struct_value (5) → …
    #expect(code { try GoogleProtobuf.Struct(protobuf: Wire.nested(path: [1, 2, 5], levels: 10_000)) } == .tooDeep)
    // Value.list_value (6) → ListValue.values (1) → …
    #expect(code { try GoogleProtobuf.Value(protobuf: Wire.nested(path: [6, 1], levels: 10_000)) } == .tooDeep)
  }

  @Test("10,000 levels of DescriptorProto are an error, not a crash")
  func deepDescriptor() {
    #expect(code { try GoogleProtobuf.DescriptorProto(protobuf: Wire.nested(3, levels: 10_000)) } == .tooDeep)
    let file = Wire.field(1, Wire.field(4, Wire.nested(3, levels: 10_000)))
    #expect(code { try EchoDescriptorRequest(protobuf: file) } == .tooDeep)
  }

  @Test("10,000 nested unknown groups are an error; 100 are kept")
  func deepGroups() throws {
    let groups = { (levels: Int) -> [UInt8] in
      Array(repeatElement(Wire.tag(900, 3), count: levels).joined())
        + Array(repeatElement(Wire.tag(900, 4), count: levels).joined())
    }
    #expect(code { try EchoRequest(protobuf: groups(10_000)) } == .tooDeep)
    #expect(code { try EchoRequest(protobuf: groups(101)) } == .tooDeep)
    #expect(try EchoRequest(protobuf: groups(100)).unknownFields.bytes == groups(100))
  }

  @Test("A value nested too deeply is not written either")
  func deepValue() throws {
    var tree = Tree()
    for _ in 0..<100 { tree = Tree(left: tree) }
    #expect(try Tree(protobuf: tree.protobufBytes()) == tree)
    let tooDeep = Tree(left: tree)
    #expect(throws: EncodeError.self) { try tooDeep.protobufBytes() }
  }

  @Test(
    "A string that is not UTF-8 is refused wherever it stands",
    arguments: [
      [0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], Array("12345678".utf8) + [0x80],
    ] as [[UInt8]])
  func invalidUTF8(text: [UInt8]) {
    for bytes in [
      Wire.field(14, text), Wire.field(24, text), Wire.field(38, text), Wire.field(62, text), Wire.field(1000, text),
      Wire.field(17, Wire.field(3, text)), Wire.field(51, Wire.field(1, text)), Wire.field(51, Wire.field(2, text)),
    ] {
      #expect(code { try Everything(protobuf: bytes) } == .invalidUTF8)
    }
    #expect(throws: Never.self) { try Everything(protobuf: Wire.field(15, text)) }
  }

  @Test(
    "Broken bytes are malformed",
    arguments: [
      [0x08],  // a tag without a value
      [0x00, 0x01],  // field 0
      [0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],  // a varint of 11 bytes
      [0x72, 0x05, 0x61],  // a length past the end
      [0x72, 0xff, 0xff, 0xff, 0xff, 0x0f],  // a length of 4 GiB
      [0x72, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f],  // a length of more than 5 bytes
      [0x8a, 0x01, 0x04, 0x08, 0x01, 0x1a, 0x05],  // a length past the end of the inner message
      [0x3d, 0x01, 0x02],  // a fixed32 cut short
      [0x41, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07],  // a fixed64 cut short
      [0x0c],  // a group end without a start
      [0x0b],  // a group without an end
      [0x0b, 0x14],  // a group ended by another number
      [0x0e, 0x01], [0x0f, 0x01],  // wire types 6 and 7
      [0xff, 0xff, 0xff, 0xff, 0xff, 0x01],  // a tag of 6 bytes
      [0xff, 0xff, 0xff, 0xff, 0x7f],  // a tag of more than 32 bits
      [0xfa, 0x01, 0x01, 0x80],  // a packed varint cut short
      [0x8a, 0x02, 0x03, 0x01, 0x02, 0x03],  // packed fixed32 of 3 bytes
    ] as [[UInt8]])
  func malformed(bytes: [UInt8]) {
    #expect(code { try Everything(protobuf: bytes) } == .malformed)
  }

  @Test("100,000 empty sub-messages exceed the budget instead of the memory")
  func amplification() {
    let bytes = Array(repeatElement(Wire.field(1, []), count: 100_000).joined())
    #expect(
      code { try GoogleProtobuf.DescriptorProto(protobuf: Array(repeatElement(Wire.field(2, []), count: 100_000).joined())) }
        == .budgetExceeded)
    // The same as merges of one field: they are joined to one empty message.
    #expect(throws: Never.self) { try EchoStructRequest(protobuf: bytes) }
  }

  @Test("Sub-messages with one small number each fit the budget, however many", arguments: [2_000, 100_000])
  func smallSubmessages(count: Int) throws {
    let bytes = Array(repeatElement(Wire.field(40, Wire.number(1, 1_030)), count: count).joined())
    #expect(try Everything(protobuf: bytes).inners.count == count)
  }

  @Test("The budget is counted: one byte less is refused")
  func budgetEdge() throws {
    let bytes = Wire.field(2, Array(repeating: 1, count: 100_000))
    func decode(_ ceiling: Int) throws -> EchoRequest {
      try EchoRequest(protobuf: bytes, limits: DecodeLimits(memoryPerByte: 0, memoryFloor: ceiling, memoryCeiling: .max))
    }
    let slots = EchoRequest.descriptor.slotSize
    #expect(try decode(slots + 100_000).body.count == 100_000)
    #expect(code { try decode(slots + 99_999) } == .budgetExceeded)
  }

  @Test("A 256 KiB message of the worst kinds ends, with or without an error, within its budget")
  func worstKinds() {
    let size = 256 << 10
    let kinds: [[UInt8]] = [
      Wire.field(38, []), Wire.field(40, []), Wire.field(51, []), Wire.number(37, 1), Wire.number(999, 1), Wire.field(17, []),
      Wire.field(64, []), Wire.tag(900, 3) + Wire.tag(900, 4), Wire.field(1, [1]), Wire.field(52, Wire.field(2, [])),
    ]
    for kind in kinds {
      let bytes = Array(repeatElement(kind, count: size / kind.count).joined())
      let outcome = code { try Everything(protobuf: bytes) }
      #expect(outcome == nil || outcome == .budgetExceeded)
    }
    let packed = Wire.field(35, Array(repeating: 1, count: size))
    #expect(code { try Everything(protobuf: packed) } == nil)
  }

  private func code<Result>(_ body: () throws -> Result) -> DecodeError.Code? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? DecodeError)?.code
    }
  }
}
