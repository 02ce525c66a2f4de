import DynamicMessages
import MessagesCore
import Testing
import WellKnown

/// What a server may say of its messages, and must not.
@Suite("Descriptors from a hostile server")
struct HostileDescriptorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let what: String
    let code: DescriptorError.Code
    /// What the error must name.
    let names: String
    let file: File

    init(_ what: String, _ code: DescriptorError.Code, _ names: String, _ file: File) {
      (self.what, self.code, self.names, self.file) = (what, code, names, file)
    }

    var testDescription: String { what }
  }

  private static let entryKey = FieldProto.of("key", 1, .string)
  private static let entryValue = FieldProto.of("value", 2, .int32)
  private static func map(_ entry: FieldProto..., label: FieldProto.Label = .repeated) -> File {
    var type = MessageProto.entry("E")
    type.field = entry
    return .of(.named("M", .of("m", 1, .message, ".p.M.E", label: label), nested: [type]))
  }

  static let cases: [Case] = [
    .init("the number 0", .invalid, "p.M.x", .of(.named("M", .of("x", 0, .int32)))),
    .init("no number", .invalid, "p.M.x", .of(.named("M", .of("x", nil, .int32)))),
    .init("a negative number", .invalid, "-1", .of(.named("M", .of("x", -1, .int32)))),
    .init("a number past the last", .invalid, "536870912", .of(.named("M", .of("x", 536_870_912, .int32)))),
    .init("the first reserved number", .invalid, "19000", .of(.named("M", .of("x", 19_000, .int32)))),
    .init("the last reserved number", .invalid, "19999", .of(.named("M", .of("x", 19_999, .int32)))),
    .init("one number twice", .duplicate, "number 7", .of(.named("M", .of("x", 7, .int32), .of("y", 7, .int32)))),
    .init("one name twice", .duplicate, "called x", .of(.named("M", .of("x", 1, .int32), .of("x", 2, .int32)))),
    .init("a group", .unsupported, "group", .of(.named("M", .of("g", 1, .group, ".p.M.G"), nested: [.named("G")]))),
    .init("a type that is not known", .invalid, "type", .of(.named("M", .of("x", 1, .unrecognized(99))))),
    .init("no type", .missing, "p.M uses", .of(.named("M", .of("x", 1, nil)))),
    .init("a label that is not known", .invalid, "label", .of(.named("M", .of("x", 1, .int32, label: .unrecognized(9))))),
    .init("a missing type", .missing, "q.Nothing", .of(.named("M", .of("x", 1, .message, ".q.Nothing")))),
    .init("a type whose name is no name", .missing, #"\u{1B}"#, .of(.named("M", .of("x", 1, .message, ".q.\u{1b}[2J")))),
    .init("an enum for a message", .invalid, "p.M.x", .of(.named("M", .of("x", 1, .message, ".p.E")), enums: [.named("E", "A")])),
    .init("a message for an enum", .invalid, "p.M.x", .of(.named("M", .of("x", 1, .enum, ".p.M")))),
    .init("a well-known message for an enum", .invalid, "p.M.x", .of(.named("M", .of("x", 1, .enum, ".google.protobuf.Any")))),
    .init("a oneof that does not exist", .invalid, "oneof", .of(.named("M", .of("x", 1, .int32, oneof: 1), oneofs: ["o"]))),
    .init("a negative oneof", .invalid, "oneof", .of(.named("M", .of("x", 1, .int32, oneof: -1), oneofs: ["o"]))),
    .init(
      "a repeated member of a oneof", .invalid, "oneof",
      .of(.named("M", .of("x", 1, .int32, label: .repeated, oneof: 0), oneofs: ["o"]))),
    .init("a field without a name", .invalid, "p.M", .of(.named("M", .of(nil, 1, .int32)))),
    .init("a field with an escape in its name", .invalid, #"\u{1B}"#, .of(.named("M", .of("\u{1b}[2J", 1, .int32)))),
    .init("a map with a key of bytes", .invalid, "key", map(.of("key", 1, .bytes), entryValue)),
    .init("a map with a key of float", .invalid, "key", map(.of("key", 1, .float), entryValue)),
    .init("a map with a message as key", .invalid, "key", map(.of("key", 1, .message, ".p.M"), entryValue)),
    .init("a map without a value", .invalid, "p.M.E", map(entryKey)),
    .init("a map without anything", .invalid, "p.M.E", map()),
    .init("a map with a third field", .invalid, "p.M.E", map(entryKey, entryValue, .of("x", 3, .int32))),
    .init("a map whose fields have other numbers", .invalid, "p.M.E", map(entryKey, .of("value", 3, .int32))),
    .init("a map with a repeated value", .invalid, "value", map(entryKey, .of("value", 2, .int32, label: .repeated))),
    .init("the entry of a map as a single field", .invalid, "p.M.m", map(entryKey, entryValue, label: .optional)),
    .init(
      "the entry of another message's map", .invalid, "p.M.m",
      .of(
        .named("M", .of("m", 1, .message, ".p.N.E", label: .repeated)), .named("N", nested: [.entry("E", entryKey, entryValue)]))),
    .init(
      "an enum value twice", .duplicate, "p.E", .of(.named("M", .of("x", 1, .enum, ".p.E")), enums: [.named("E", "A", "A")])),
    .init(
      "an enum value without a name", .invalid, "p.E", .of(.named("M", .of("x", 1, .enum, ".p.E")), enums: [.named("E", nil)])),
  ]

  @Test("A message is refused with an error that names what is wrong", arguments: cases)
  func messages(_ item: Case) throws {
    let pool = try DescriptorPool.of(item.file)
    let error = #expect(throws: DescriptorError.self) { try pool.message("p.M") }
    #expect(error?.code == item.code)
    #expect(error?.message.contains(item.names) == true, "\(error?.message ?? "")")
  }

  @Test(
    "A file is refused whole",
    arguments: [
      Case("no name", .invalid, "no name", File()),
      Case("a syntax that is not known", .unsupported, "syntax", .of(.named("M"), syntax: "proto4")),
      Case("a message without a name", .invalid, "in p", .of(.named(nil))),
      Case("a message that is called like a path", .invalid, "a/b", .of(.named("a/b"))),
      Case("a message that begins with a digit", .invalid, "1M", .of(.named("1M"))),
      Case("two messages of one name", .duplicate, "p.M", .of(.named("M"), .named("M"))),
      Case("a message and an enum of one name", .duplicate, "p.M", .of(.named("M"), enums: [.named("M", "A")])),
      Case("two nested messages of one name", .duplicate, "p.M.N", .of(.named("M", nested: [.named("N"), .named("N")]))),
    ])
  func files(_ item: Case) throws {
    let pool = DescriptorPool()
    let error = #expect(throws: DescriptorError.self) { try pool.add([.of(.named("Good"), name: "good.proto"), item.file]) }
    #expect(error?.code == item.code)
    #expect(error?.message.contains(item.names) == true, "\(error?.message ?? "")")
    // All or none: the good file before it is not there either.
    #expect(pool.files.isEmpty && !pool.hasFile("good.proto"))
  }

  @Test("A file may come again if it is the same; another of its name is refused")
  func again() throws {
    let pool = try DescriptorPool.of(.of(.named("M")))
    try pool.add([.of(.named("M"))])
    let error = #expect(throws: DescriptorError.self) { try pool.add([.of(.named("N"))]) }
    #expect(error?.code == .duplicate)
    #expect(throws: DescriptorError.self) { try pool.add([.of(.named("M"), name: "other.proto")]) }
    #expect(pool.files.count == 1)
  }

  @Test("Files that import each other, and imports that never come, do not matter to what needs neither")
  func imports() throws {
    var first = File.of(.named("A", .of("b", 1, .message, ".p.B")), name: "a.proto")
    var second = File.of(.named("B", .of("a", 1, .message, ".p.A")), name: "b.proto")
    first.dependency = ["b.proto", "a.proto", "never.proto"]
    second.dependency = ["a.proto"]
    let message = try DescriptorPool.of(first, second).message("p.A")
    #expect(try message.wireBytes(json: Array(#"{"b":{"a":{"b":{}}}}"#.utf8)) == [10, 4, 10, 2, 10, 0])
  }

  @Test("A fault in a message that is not used harms no other")
  func neighbours() throws {
    let pool = try DescriptorPool.of(.of(.named("M", .of("x", 1, .int32)), .named("Bad", .of("x", 0, .int32))))
    #expect(throws: DescriptorError.self) { try pool.message("p.Bad") }
    #expect(try pool.message("p.M").wireBytes(json: Array(#"{"x":1}"#.utf8)) == [8, 1])
    #expect(throws: DescriptorError.self) { try pool.message("p.Bad") }
  }

  @Test("A type that came too late is found by the next who asks")
  func late() throws {
    let pool = try DescriptorPool.of(.of(.named("M", .of("n", 1, .message, ".p.N"))))
    #expect(throws: DescriptorError.self) { try pool.message("p.M") }
    try pool.add([.of(.named("N"), name: "n.proto")])
    #expect(try pool.message("p.M").wireBytes(json: Array(#"{"n":{}}"#.utf8)) == [10, 0])
  }

  @Test("A chain of 20,000 types, each in the next, costs no stack")
  func chain() throws {
    var file = File.of()
    file.messageType = (0..<20_000).map { .named("M\($0)", .of("next", 1, .message, ".p.M\(($0 + 1) % 20_000)")) }
    let message = try DescriptorPool.of(file).message("p.M0")
    #expect(try message.wireBytes(json: Array(#"{"next":{"next":{}}}"#.utf8)) == [10, 2, 10, 0])
  }

  @Test("Messages declared 5,000 deep within each other cost no stack")
  func nesting() throws {
    var message = MessageProto.named("M")
    for _ in 0..<5_000 { message = .named("M", nested: [message]) }
    let pool = try DescriptorPool.of(.of(message))
    #expect(try pool.message("p.M.M.M").name == "p.M.M.M")
    // Releasing the value recurses by its depth as well; that is the sender's only as far as the decoder's 100 levels.
  }

  @Test("A message may have 65,535 fields and no more")
  func manyFields() throws {
    func file(_ count: Int32) -> File {
      var message = MessageProto.named("M")
      // Past the reserved numbers in the middle.
      message.field = (1...count).map { .of("f\($0)", $0 < 19_000 ? $0 : $0 + 1_000, .bool) }
      return .of(message)
    }
    #expect(try DescriptorPool.of(file(65_535)).message("p.M").fields.count == 65_535)
    let error = #expect(throws: DescriptorError.self) { try DescriptorPool.of(file(65_536)).message("p.M") }
    #expect(error?.code == .tooLarge)
  }

  @Test("No more than 10,000 files are taken")
  func manyFiles() throws {
    let pool = DescriptorPool()
    try pool.add((1...10_000).map { .of(name: "\($0).proto") })
    let error = #expect(throws: DescriptorError.self) { try pool.add([.of(name: "more.proto")]) }
    #expect(error?.code == .tooLarge)
  }

  @Test("Messages with a JSON form of their own are those compiled in, whatever the server calls by their names")
  func impostors() throws {
    var file = File.of(.named("Timestamp"), .named("Any"), .named("Struct"), .named("Value"), .named("BoolValue"))
    file.package = "google.protobuf"
    let pool = try DescriptorPool.of(
      file,
      .of(
        .named("M", .of("at", 1, .message, ".google.protobuf.Timestamp"), .of("v", 2, .message, ".google.protobuf.Value")),
        name: "m.proto"))
    let json = Array(#"{"at":"1970-01-01T00:00:01Z","v":[true]}"#.utf8)
    let message = try pool.message("p.M")
    #expect(try message.jsonBytes(wire: try message.wireBytes(json: json)) == json)
  }

  @Test("A message, an enum or a service that is no message is not found as one")
  func kinds() throws {
    let pool = try DescriptorPool.of(.of(.named("M"), enums: [.named("E", "A")]))
    for name in ["p.E", "p.Nothing", "", "p", ".p.M"] {
      let error = #expect(throws: DescriptorError.self) { try pool.message(name) }
      #expect(error?.code == .missing)
    }
  }
}
