import DynamicMessages
import MessagesCore
import MessagesWire
import TestAPI
import Testing
import WellKnown

@Suite("Messages known at run time")
struct TranscodingTests {
  private static let everything = """
    {"int32Value":-1,"int64Value":"-9007199254740993","uint32Value":4294967295,"uint64Value":"18446744073709551615",\
    "sint32Value":-7,"sint64Value":"-8","fixed32Value":9,"fixed64Value":"10","sfixed32Value":-11,"sfixed64Value":"-12",\
    "floatValue":-0.0,"doubleValue":1.5e300,"boolValue":true,"stringValue":"größer \\u0000 \\"x\\"","bytesValue":"AP/+",\
    "mood":"MOOD_SAD","inner":{"number":3,"maybe":0,"text":"in"},"optionalInt32":0,"optionalDouble":0,"optionalBool":false,\
    "optionalString":"","optionalBytes":"","optionalMood":"MOOD_UNSPECIFIED","optionalUint64":"0","int32Values":[1,-2,3],\
    "sint64Values":["-1","2"],"fixed32Values":[7],"doubleValues":[0.5,"Infinity","-Infinity"],"boolValues":[true,false],\
    "moods":["MOOD_GLAD",-1,17],"unpackedValues":[1,2],"stringValues":["a","","b"],"bytesValues":["","AQ=="],\
    "inners":[{},{"number":1}],"textByText":{"a":"b","":""},"innerByNumber":{"-5":{"text":"x"}},"doubleByBool":{"true":2.5},\
    "moodByNumber":{"7":"MOOD_GLAD"},"bytesByText":{"k":"/w=="},"choiceInner":{"number":0},"at":"2026-11-21T06:30:00.5Z",\
    "far":"away","farInner":{"number":536870911}}
    """

  /// Both codecs say the same: the one of generated code, and the one that learnt the type from the file.
  private func compare<M: Message>(_ message: M, _ pool: DescriptorPool) throws {
    let dynamic = try pool.message(M.descriptor.name)
    #expect(dynamic !== M.descriptor)
    let json = try message.jsonBytes()
    #expect(try dynamic.jsonBytes(wire: try message.protobufBytes()) == json)
    // JSON has no place for what the descriptor does not know: custom options, in files.
    let known = try M(json: json)
    let (mine, theirs) = (try dynamic.wireBytes(json: json), try known.protobufBytes())
    #expect(mine.sorted() == theirs.sorted(), "\(mine) \(theirs)")
    #expect(try M(protobuf: try dynamic.wireBytes(json: json)) == known)
  }

  @Test("A message with a field of every kind is read and written as generated code does it")
  func everything() throws {
    let pool = try DescriptorPool.of(EchoService.file)
    try compare(try Everything(jsonString: Self.everything), pool)
    try compare(Everything(), pool)
    for choice in ["choiceInt32\":0", "choiceString\":\"\"", "choiceBytes\":\"AA==", "choiceOther\":{}", "choiceDouble\":0.0"] {
      let text = "{\"\(choice)\(choice.hasSuffix("==") ? "\"" : "")}"
      try compare(try Everything(jsonString: text), pool)
    }
  }

  @Test("A message that contains itself in every way, and proto2's own description of itself")
  func recursive() throws {
    let leaf = Tree(label: "leaf", hanging: .number(0))
    var tree = Tree(label: "root", children: [leaf, leaf], named: ["a": leaf], hanging: .tree(leaf))
    for _ in 0..<90 { tree = Tree(left: tree) }
    let pool = try DescriptorPool.of(EchoService.file)
    try compare(tree, pool)
    for file in pool.files { try compare(file, pool) }
  }

  @Test("An enum name or a member that does not exist is refused, or passed over when that is asked for")
  func unknown() throws {
    let message = try DescriptorPool.of(EchoService.file).message("parley.testing.v1.Everything")
    let text = Array(#"{"mood":"MOOD_NONE","nothing":1,"boolValue":true}"#.utf8)
    #expect(throws: DecodeError.self) { try message.wireBytes(json: text) }
    #expect(try message.wireBytes(json: text, options: .init(ignoresUnknownFields: true)) == [0x68, 1])
  }

  @Test("Bytes that are no such message are refused", arguments: [[0x0a, 5, 1], [0x72, 1, 0xff], [0xff], [0x0c]] as [[UInt8]])
  func malformed(_ bytes: [UInt8]) throws {
    let message = try DescriptorPool.of(EchoService.file).message("parley.testing.v1.Everything")
    #expect(throws: DecodeError.self) { try message.jsonBytes(wire: bytes) }
  }

  @Test("An Any holds what the pool declares and nothing else")
  func any() throws {
    let pool = try DescriptorPool.of(
      .of(.named("M", .of("any", 1, .message, ".google.protobuf.Any")), .named("Inner", .of("x", 1, .int32))))
    let message = try pool.message("p.M")
    let registry = MessageRegistry(pool)
    let json = Array(#"{"any":{"@type":"type.googleapis.com/p.Inner","x":5}}"#.utf8)
    let wire = try message.wireBytes(json: json, options: .init(registry: registry))
    #expect(try message.jsonBytes(wire: wire, options: .init(registry: registry)) == json)
    let other = Array(#"{"any":{"@type":"type.googleapis.com/p.Other","x":5}}"#.utf8)
    #expect(throws: DecodeError.self) { try message.wireBytes(json: other, options: .init(registry: registry)) }
  }

  @Test("A map entry without a value is an empty message, and of two entries with one key the last one counts")
  func mapEntries() throws {
    let message = try DescriptorPool.of(EchoService.file).message("parley.testing.v1.Tree")
    let without: [UInt8] = [0x22, 3, 0x0a, 1, 0x6b]
    #expect(try message.jsonBytes(wire: without) == Array(#"{"named":{"k":{}}}"#.utf8))
    let labelled: [UInt8] = [0x22, 8, 0x0a, 1, 0x6b, 0x12, 3, 0x0a, 1, 0x61]
    #expect(try message.jsonBytes(wire: labelled + without) == Array(#"{"named":{"k":{}}}"#.utf8))
    #expect(try message.jsonBytes(wire: without + labelled) == Array(#"{"named":{"k":{"label":"a"}}}"#.utf8))
  }

  @Test("proto2 keeps presence and does not pack, proto3 packs, an edition does both by its defaults")
  func syntax() throws {
    let fields: (FieldProto, FieldProto) = (.of("one", 1, .int32), .of("many", 2, .int32, label: .repeated))
    let json = Array(#"{"one":0,"many":[1,2]}"#.utf8)
    let expected: [(String?, [UInt8])] = [
      (nil, [0x08, 0, 0x10, 1, 0x10, 2]), ("proto2", [0x08, 0, 0x10, 1, 0x10, 2]), ("proto3", [0x12, 2, 1, 2]),
      ("editions", [0x08, 0, 0x12, 2, 1, 2]),
    ]
    for (syntax, wire) in expected {
      let message = try DescriptorPool.of(.of(.named("M", fields.0, fields.1), syntax: syntax)).message("p.M")
      #expect(try message.wireBytes(json: json) == wire)
    }
  }

  @Test("Names in JSON: the one given, else lowerCamel, else, where two would be the same, those of the file")
  func jsonNames() throws {
    let message = try DescriptorPool.of(
      .of(
        .named(
          "M", .of("a_long_name", 1, .bool), .of("given", 2, .bool, json: "taken"), .of("foo_bar", 3, .bool),
          .of("fooBar", 4, .bool)))
    ).message("p.M")
    #expect(
      try message.jsonBytes(wire: [0x08, 1, 0x10, 1, 0x18, 1, 0x20, 1])
        == Array(#"{"aLongName":true,"taken":true,"foo_bar":true,"fooBar":true}"#.utf8))
  }
}
