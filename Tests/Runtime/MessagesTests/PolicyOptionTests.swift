import MessagesCore
import Testing
import WellKnown

@testable import protoc_gen_parley

/// What the generator makes of the options of `parley/options/v1/policy.proto`, and what it refuses.
@Suite("Options of methods that the generator reads")
struct PolicyOptionTests {
  private typealias Method = GoogleProtobuf.MethodDescriptorProto
  private typealias Field = GoogleProtobuf.FieldDescriptorProto
  private typealias Descriptor = GoogleProtobuf.DescriptorProto

  // MARK: Files

  private static func varint(_ value: UInt64) -> [UInt8] {
    var (value, bytes) = (value, [UInt8]())
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    return bytes + [UInt8(value)]
  }

  private static func number(_ field: UInt64, _ value: UInt64) -> [UInt8] { varint(field << 3) + varint(value) }

  private static func message(_ field: UInt64, _ content: [UInt8]) -> [UInt8] {
    varint(field << 3 | 2) + varint(UInt64(content.count)) + content
  }

  private static func limit(
    per: UInt64, _ perMinute: UInt64 = 60, _ burst: UInt64 = 30, name: String = "writing", opens: Bool = false
  ) -> [UInt8] {
    message(
      50002,
      number(1, per) + number(2, perMinute) + number(3, burst) + (opens ? number(4, 1) : [])
        + (name.isEmpty ? [] : message(5, Array(name.utf8))))
  }

  private static func idempotency(isOptional: Bool = false, hours: UInt64 = 0) -> [UInt8] {
    message(50003, (isOptional ? number(1, 1) : []) + (hours > 0 ? number(2, hours) : []))
  }

  private static func method(
    _ access: UInt64, _ options: [UInt8] = [], level: GoogleProtobuf.MethodOptions.IdempotencyLevel? = nil,
    name: String = "Write",
    clientStreams: Bool = false, serverStreams: Bool = false
  ) -> Method {
    var method = Method()
    method.name = name
    method.inputType = ".parley.test.v1.WriteRequest"
    method.outputType = ".parley.test.v1.WriteResponse"
    method.clientStreaming = clientStreams
    method.serverStreaming = serverStreams
    var own = GoogleProtobuf.MethodOptions()
    own.idempotencyLevel = level
    own.unknownFields = UnknownFields(bytes: number(50001, access) + options)
    method.options = own
    return method
  }

  private static func field(
    _ name: String, _ number: Int32, _ type: Field.TypeEnum = .string, of typeName: String? = nil, isOwner: Bool = false,
    isRepeated: Bool = false, oneof: Int32? = nil
  ) -> Field {
    var field = Field()
    field.name = name
    field.number = number
    field.type = type
    field.typeName = typeName
    field.label = isRepeated ? .repeated : .optional
    field.oneofIndex = oneof
    if isOwner {
      var options = GoogleProtobuf.FieldOptions()
      options.unknownFields = UnknownFields(bytes: Self.number(50004, 1))
      field.options = options
    }
    return field
  }

  private static func message(_ name: String, _ fields: [Field]) -> Descriptor {
    var message = Descriptor()
    message.name = name
    message.field = fields
    return message
  }

  /// The text of the generated file, or why there is none.
  private static func generate(
    _ methods: [Method], _ request: [Field] = [field("idempotency_key", 1)], more: [Descriptor] = [], response: [Field] = []
  ) throws -> Result<String, GenerationError> {
    var file = GoogleProtobuf.FileDescriptorProto()
    file.name = "parley/test/v1/test.proto"
    file.package = "parley.test.v1"
    file.syntax = "proto3"
    file.messageType = [message("WriteRequest", request), message("WriteResponse", response)] + more
    var service = GoogleProtobuf.ServiceDescriptorProto()
    service.name = "TestService"
    service.method = methods
    file.service = [service]
    var input = GoogleProtobufCompiler.CodeGeneratorRequest()
    input.fileToGenerate = ["parley/test/v1/test.proto"]
    input.protoFile = [file]
    input.parameter = "Module=Test"
    let output = Generator(request: input).response()
    if let error = output.error { return .failure(GenerationError(error)) }
    return .success(try #require(output.file.first?.content))
  }

  private static func refusal(
    _ methods: [Method], _ request: [Field] = [field("idempotency_key", 1)], more: [Descriptor] = [], response: [Field] = []
  ) throws -> String {
    switch try generate(methods, request, more: more, response: response) {
    case .success: "none"
    case .failure(let error): error.message
    }
  }

  // MARK: What it makes

  @Test("Limits, keys and owners become arguments of the method's descriptor; a method without them gets none")
  func written() throws {
    let options = Self.limit(per: 1) + Self.limit(per: 2, 600, 300, name: "address", opens: true) + Self.idempotency(hours: 48)
    let plain = Self.method(4, level: .noSideEffects, name: "Read")
    let text = try Self.generate([Self.method(4, options), plain]).get()
    #expect(
      text.contains(
        """
        limits: [MethodLimit("writing", per: .user, perMinute: 60, burst: 30), \
        MethodLimit("address", per: .address, perMinute: 600, burst: 300, failsOpen: true)],
        """))
    #expect(text.contains("replay: MethodReplay(keptHours: 48, isKeyOptional: false) { $0.idempotencyKey }"))
    #expect(!text.contains("owners:"))
    #expect(text.contains("name: \"Read\", kind: .unary, access: .session, idempotency: .noSideEffects\n"))
    let others = try Self.generate([Self.method(5, Self.limit(per: 3) + Self.idempotency(isOptional: true))]).get()
    #expect(others.contains("per: .session") && others.contains("keptHours: 24, isKeyOptional: true"))
    #expect(try Self.generate([Self.method(2, Self.limit(per: 4), level: .idempotent)]).get().contains("per: .device"))
  }

  @Test("Owners are found in the request and in the messages that it holds, one or several, present or not")
  func owners() throws {
    let inner = Self.message(
      "Inner",
      [
        Self.field("user_id", 1, isOwner: true), Self.field("again", 2, .message, of: ".parley.test.v1.Inner"),
        Self.field("user_ids", 3, isOwner: true, isRepeated: true),
      ])
    let request = [
      Self.field("owner_id", 1, isOwner: true), Self.field("inner", 2, .message, of: ".parley.test.v1.Inner"),
      Self.field("other_ids", 3, isOwner: true, isRepeated: true),
      Self.field("many", 4, .message, of: ".parley.test.v1.Inner", isRepeated: true),
    ]
    let text = try Self.generate([Self.method(4, level: .idempotent)], request, more: [inner]).get()
    #expect(
      text.contains(#"owners: { [$0.ownerID, $0.inner?.userID ?? ""] + ($0.inner?.userIDs ?? []) + $0.otherIDs }"#))
    // For an operator a profile is a profile, whosever it is.
    let admin = try Self.generate(
      [Self.method(6, level: .idempotent)], [Self.field("inner", 2, .message, of: ".parley.test.v1.Inner")], more: [inner])
    #expect(try !admin.get().contains("owners:"))
  }

  // MARK: What it refuses

  @Test(
    "A limit that means nothing is refused",
    arguments: [
      (limit(per: 0), 4, "whose"), (limit(per: 5), 4, "whose"), (limit(per: 1), 1, "no session"),
      (limit(per: 1), 6, "no session"),
      (limit(per: 3), 7, "no session"), (limit(per: 3), 3, "no session"), (limit(per: 4), 4, "DEVICE"),
      (limit(per: 1, 0), 4, "per_minute"), (limit(per: 1, 1, 0), 4, "burst"), (limit(per: 1, 1_000_001), 4, "1000000"),
      (limit(per: 1, name: ""), 4, "a name is"), (limit(per: 1, name: "Writing"), 4, "a name is"),
      (limit(per: 1, name: String(repeating: "a", count: 33)), 4, "a name is"), (limit(per: 1, name: "1a"), 4, "a name is"),
      (limit(per: 1) + limit(per: 2), 4, "two rate limits"), (limit(per: 1, 1, 1_441), 4, "a day to fill"),
    ] as [([UInt8], UInt64, String)])
  func limits(options: [UInt8], access: UInt64, words: String) throws {
    let text = try Self.refusal([Self.method(access, options, level: .idempotent)])
    #expect(text.contains("parley.test.v1.TestService.Write") && text.contains(words), "\(text)")
  }

  @Test("At the edges a limit is a limit")
  func edges() throws {
    let name = "a" + String(repeating: "-", count: 31)
    for limit in [
      Self.limit(per: 1, 1, 1_440), Self.limit(per: 1, 1_000_000, 1_000_000), Self.limit(per: 1, 1, 1, name: name),
      Self.limit(per: 1, name: "a"),
    ] { #expect(try Self.refusal([Self.method(4, limit, level: .idempotent)]) == "none") }
  }

  @Test("Methods that share a limit agree about it")
  func shared() throws {
    let first = Self.method(4, Self.limit(per: 1), level: .idempotent, name: "First")
    #expect(try Self.refusal([first, Self.method(4, Self.limit(per: 1), level: .idempotent)]) == "none")
    for other in [Self.limit(per: 1, 61), Self.limit(per: 1, 60, 31), Self.limit(per: 2), Self.limit(per: 1, opens: true)] {
      let text = try Self.refusal([first, Self.method(4, other, level: .idempotent)])
      #expect(text.contains("First") && text.contains("differ"), "\(text)")
    }
  }

  @Test("A method that is not public and may change something says what becomes of a request that comes twice", arguments: 2...7)
  func silent(access: UInt64) throws {
    #expect(try Self.refusal([Self.method(access)]).contains("comes twice"))
    #expect(try Self.refusal([Self.method(access, level: .idempotent)]) == "none")
    #expect(try Self.refusal([Self.method(access, level: .noSideEffects)]) == "none")
    #expect(try Self.refusal([Self.method(1)]) == "none")
  }

  @Test("Keys where they cannot be are refused")
  func keys() throws {
    let keyed = Self.idempotency()
    for access in [1, 2, 3, 6, 7] as [UInt64] { #expect(try Self.refusal([Self.method(access, keyed)]).contains("no session")) }
    #expect(try Self.refusal([Self.method(4, keyed, level: .idempotent)]).contains("no need"))
    #expect(try Self.refusal([Self.method(4, keyed, level: .noSideEffects)]).contains("no need"))
    #expect(try Self.refusal([Self.method(4, keyed, clientStreams: true)]).contains("streams"))
    #expect(try Self.refusal([Self.method(4, keyed, serverStreams: true)]).contains("streams"))
    #expect(try Self.refusal([Self.method(4, Self.idempotency(hours: 721))]).contains("720 at most"))
    #expect(try Self.refusal([Self.method(4, Self.idempotency(hours: 720))]) == "none")
    for wrong in [
      [], [Self.field("idempotency_key", 1, .bytes)], [Self.field("idempotency_key", 1, isRepeated: true)],
      [Self.field("key", 1)],
    ] {
      #expect(try Self.refusal([Self.method(4, keyed)], wrong).contains("no field 'string idempotency_key'"))
    }
  }

  @Test("Keys of a method with maps are refused: equal maps may have different bytes")
  func maps() throws {
    var entry = Self.message("TagsEntry", [Self.field("key", 1), Self.field("value", 2)])
    var options = GoogleProtobuf.MessageOptions()
    options.mapEntry = true
    entry.options = options
    var holder = Self.message(
      "Holder", [Self.field("tags", 1, .message, of: ".parley.test.v1.Holder.TagsEntry", isRepeated: true)])
    holder.nestedType = [entry]
    let held = Self.field("holder", 2, .message, of: ".parley.test.v1.Holder")
    let method = Self.method(4, Self.idempotency())
    #expect(try Self.refusal([method], [Self.field("idempotency_key", 1), held], more: [holder]).contains("holds a map"))
    #expect(try Self.refusal([method], more: [holder], response: [held]).contains("holds a map"))
  }

  @Test("Owners where nobody owns anything are refused")
  func ownersRefused() throws {
    let owner = [Self.field("user_id", 1, isOwner: true)]
    for access in [1, 2, 3, 6, 7] as [UInt64] {
      #expect(try Self.refusal([Self.method(access, level: .idempotent)], owner).contains("callers have none"))
    }
    #expect(try Self.refusal([Self.method(4, level: .idempotent, serverStreams: true)], owner) == "none")
    #expect(try Self.refusal([Self.method(4, level: .idempotent, clientStreams: true)], owner).contains("stream of requests"))
    #expect(
      try Self.refusal([Self.method(4, level: .idempotent)], [Self.field("user_id", 1, .bytes, isOwner: true)]).contains(
        "no string"))
  }
}
