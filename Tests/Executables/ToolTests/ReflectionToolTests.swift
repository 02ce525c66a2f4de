import EventLoop
import JSON
import MessagesCore
import MessagesWire
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing
import WellKnown

@testable import parley

@Suite("Services that the command line learns of from the server") struct ReflectionToolTests {
  private static let services = [EchoService.routes(EchoHandlers())].withReflection()

  @Test("list shows services and the methods of one")
  func list() async throws {
    try await ReflectingServer.serve(Self.services) { target in
      let names = try await ToolProcess.parley(["list", "--target", target])
      #expect(
        names.output
          == "grpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\nparley.testing.v1.EchoService\n")
      let json = try await ToolProcess.parley(["list", "--json", "--target", target])
      #expect(try parsed(json.output).array?.count == 3)
      let methods = try await ToolProcess.parley(["list", "parley.testing.v1.EchoService", "--target", target])
      #expect(
        methods.output.contains(
          "parley.testing.v1.EchoService/Chat (stream parley.testing.v1.ChatRequest) returns (stream parley.testing.v1.ChatResponse)\n"
        ))
      let missing = try await ToolProcess.parley(["list", "parley.Nothing", "--target", target])
      #expect(missing.status == 64 && missing.errors.contains("parley.Nothing"))
    }
  }

  @Test("describe shows a service, a method with its messages, a message and an enum")
  func describe() async throws {
    try await ReflectingServer.serve(Self.services) { target in
      func describe(_ symbol: String) async throws -> String {
        try await ToolProcess.parley(["describe", symbol, "--target", target]).output
      }
      let service = try await describe("parley.testing.v1.EchoService")
      #expect(service.hasPrefix("service parley.testing.v1.EchoService {\n  rpc Echo (parley.testing.v1.EchoRequest) returns ("))
      #expect(
        try await describe("parley.testing.v1.EchoService/Sum") == """
          parley.testing.v1.EchoService/Sum (stream parley.testing.v1.SumRequest) returns (parley.testing.v1.SumResponse)

          message parley.testing.v1.SumRequest {
            int64 number = 1;
          }

          message parley.testing.v1.SumResponse {
            int64 total = 1;
            int32 count = 2;
          }

          """)
      #expect(
        try await describe("parley.testing.v1.Tree") == """
          message parley.testing.v1.Tree {
            string label = 1;
            parley.testing.v1.Tree left = 2;
            repeated parley.testing.v1.Tree children = 3;
            map<string, parley.testing.v1.Tree> named = 4;
            oneof hanging {
              parley.testing.v1.Tree tree = 5;
              string leaf = 6;
              int32 number = 7;
            }
          }

          """)
      #expect(
        try await describe("parley.testing.v1.Everything.Mood")
          == "enum parley.testing.v1.Everything.Mood {\n  MOOD_UNSPECIFIED = 0;\n  MOOD_GLAD = 1;\n  MOOD_SAD = -1;\n}\n")
      #expect(try await describe("parley.testing.v1.Everything").contains("  optional double optional_double = 22;\n"))
      let missing = try await ToolProcess.parley(["describe", "parley.Nothing", "--target", target])
      #expect(missing.status == 64 && missing.output.isEmpty)
    }
  }

  @Test("A server that has only the older version is asked in that")
  func older() async throws {
    let services = Self.services.filter { $0.descriptor.name != "grpc.reflection.v1.ServerReflection" }
    try await ReflectingServer.serve(services) { target in
      let ending = try await ToolProcess.parley(
        ["call", "parley.testing.v1.EchoService.Echo", #"{"text":"x"}"#, "--target", target])
      #expect(ending.output == "{\"text\":\"x\"}\n", "\(ending.errors)")
    }
  }

  @Test("A server without reflection, and a method that is not there, end with 64 and say what there is")
  func without() async throws {
    try await ReflectingServer.serve([EchoService.routes(EchoHandlers())]) { target in
      let call = try await ToolProcess.parley(["call", "parley.testing.v1.EchoService/Echo", "--target", target])
      #expect(call.status == 64 && call.errors.contains("grpc.health.v1.Health/Check"))
      let list = try await ToolProcess.parley(["list", "--target", target])
      #expect(list.status == 1 && list.errors.contains("no reflection"))
    }
    try await ReflectingServer.serve(Self.services) { target in
      for method in ["parley.testing.v1.EchoService/Nothing", "a.B/C"] {
        let ending = try await ToolProcess.parley(["call", method, "--target", target])
        #expect(ending.status == 64 && ending.errors.contains("parley list"))
      }
    }
    let unreachable = try await ToolProcess.parley(["call", "a.B/C", "--target", "127.0.0.1:1"])
    #expect(unreachable.status == 69)
  }

  @Test("What an Any holds is asked for when it comes, in both directions")
  func any() async throws {
    // A service whose file knows nothing of the type that its messages will hold.
    var file = GoogleProtobuf.FileDescriptorProto()
    (file.name, file.package, file.syntax, file.dependency) = ("any.proto", "test", "proto3", ["google/rpc/status.proto"])
    file.service = [
      .init(name: "Any", method: [.init(name: "Echo", inputType: ".google.rpc.Status", outputType: ".google.rpc.Status")])
    ]
    let text = Bytes(try file.protobufBytes()).base64
    let declared = FileDescriptor("any.proto", dependencies: [.googleRpcStatus], base64: text)
    let method = MethodDescriptor<GoogleRPC.Status, GoogleRPC.Status>(
      service: "test.Any", name: "Echo", kind: .unary, access: .public)
    let descriptor = ServiceDescriptor(name: "test.Any", methods: [method.info], file: declared)
    let service = ServiceRoutes(descriptor, [.unary(method) { request, _ in request }])
    try await ReflectingServer.serve([service, EchoService.routes(EchoHandlers())].withReflection()) { target in
      let request = #"{"details":[{"@type":"type.googleapis.com/parley.testing.v1.Tree","label":"x","hanging":{}}]}"#
        .replacing(#","hanging":{}"#, with: "")
      let ending = try await ToolProcess.parley(["call", "test.Any/Echo", request, "--target", target])
      #expect(ending.output == request + "\n", "\(ending.errors)")
      let unknown = try await ToolProcess.parley(
        ["call", "test.Any/Echo", request.replacing("Tree", with: "Bush"), "--target", target])
      #expect(unknown.status == 64 && unknown.errors.contains("not registered"))
    }
  }

  // MARK: Hostile servers

  /// Reflection that answers whatever it likes.
  private struct Liar: GRPCReflectionV1.ServerReflection.Handlers {
    typealias Answer = GRPCReflectionV1.ServerReflectionResponse.MessageResponse
    let answer: @Sendable (GRPCReflectionV1.ServerReflectionRequest.MessageRequest?) throws -> Answer?

    func serverReflectionInfo(
      _ requests: RequestStream<GRPCReflectionV1.ServerReflectionRequest>,
      _ responses: ResponseWriter<GRPCReflectionV1.ServerReflectionResponse>, _ call: CallContext
    ) async throws {
      for try await request in requests { try await responses.write(.init(messageResponse: try answer(request.messageRequest))) }
    }
  }

  private static func files(_ files: GoogleProtobuf.FileDescriptorProto...) throws -> Liar.Answer {
    .fileDescriptorResponse(.init(fileDescriptorProto: try files.map { Bytes(try $0.protobufBytes()) }))
  }

  private static func file(_ name: String, imports: [String] = []) -> GoogleProtobuf.FileDescriptorProto {
    var file = GoogleProtobuf.FileDescriptorProto()
    (file.name, file.package, file.syntax, file.dependency) = (name, "p", "proto3", imports)
    return file
  }

  private static func service(_ input: String) -> GoogleProtobuf.ServiceDescriptorProto {
    .init(name: "S", method: [.init(name: "M", inputType: input, outputType: input)])
  }

  private static func ask(_ liar: Liar) async throws -> ToolProcess.Ending {
    let box = Mailbox()
    try await ReflectingServer.serve([GRPCReflectionV1.ServerReflection.routes(liar)]) { target in
      box.ending = try await ToolProcess.parley(["call", "p.S/M", "--target", target])
    }
    return try #require(box.ending)
  }

  private final class Mailbox { var ending: ToolProcess.Ending? }

  @Test("Files without end are not asked for without end")
  func endless() async throws {
    let ending = try await Self.ask(
      Liar { question in
        guard case .fileByFilename(let name) = question else { return try Self.files(Self.file("0", imports: ["1"])) }
        return try Self.files(Self.file(name, imports: ["\((Int(name) ?? 0) + 1)"]))
      })
    #expect(ending.status == 1 && ending.errors.contains("without end"), "\(ending.errors)")
  }

  @Test("Files that import each other, and imports that the server does not have, are passed over until a type is needed")
  func cycle() async throws {
    let ending = try await Self.ask(
      Liar { question in
        var first = Self.file("a", imports: ["b", "gone"])
        first.service = [Self.service(".p.Gone")]
        return switch question {
        case .fileByFilename("b"): try Self.files(Self.file("b", imports: ["a", "b"]))
        case .fileByFilename: .errorResponse(.init(errorCode: 5, errorMessage: "gone"))
        default: try Self.files(first)
        }
      })
    #expect(ending.status == 1 && ending.errors.contains("p.Gone"), "\(ending.errors)")
  }

  @Test("Answers that are none end with an error, not with a crash", arguments: 0..<6)
  func nonsense(_ kind: Int) async throws {
    let ending = try await Self.ask(
      Liar { _ in
        switch kind {
        case 0: return nil
        case 1: return .listServicesResponse(.init())
        case 2: return .fileDescriptorResponse(.init(fileDescriptorProto: [Bytes([0xff, 0xff])]))
        case 3: return .fileDescriptorResponse(.init())
        case 4: throw RPCError(.permissionDenied, "\u{1b}[2J")
        default:
          var file = Self.file("a")
          file.service = [Self.service(".p.M")]
          file.messageType = [.init(name: "M", field: [.init(name: "x", number: 19_999, type: .int32)])]
          return try Self.files(file)
        }
      })
    #expect([1, 64].contains(ending.status), "\(ending.status) \(ending.errors)")
    #expect(!ending.errors.isEmpty && !ending.errors.contains("\u{1b}"))
    #expect(!ending.errors.contains("Fatal error"))
  }

  // MARK: Pieces

  @Test(
    "JSON documents are told apart however they are written",
    arguments: [
      ("", []), ("  \n ", []), ("{}", ["{}"]), ("{}{}", ["{}", "{}"]), ("{\"a\":{}} \n[1]", ["{\"a\":{}}", "[1]"]),
      ("1 2\n\"x y\" null", ["1", "2", "\"x y\"", "null"]), ("\"a\"\"b\"", ["\"a\"", "\"b\""]),
      (#"{"a":"}\"{"} x"#, [#"{"a":"}\"{"}"#, "x"]), ("{\"a\":", ["{\"a\":"]), ("} {", ["}", "{"]),
      ("{\"a\": \"\n\"}", ["{\"a\": \"\n\"}"]),
    ])
  func documents(_ text: String, _ expected: [String]) throws {
    #expect(try JSONDocuments.all(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) } == expected)
    // Byte by byte it is the same.
    var documents = JSONDocuments()
    var found: [[UInt8]] = []
    for byte in text.utf8 {
      documents.append([byte])
      while let document = try documents.next() { found.append(document) }
    }
    if let last = try documents.rest() { found.append(last) }
    #expect(found.map { String(decoding: $0, as: UTF8.self) } == expected)
  }

  @Test("A method has one name in several spellings")
  func names() {
    for text in ["a.b.C/D", "/a.b.C/D", "a.b.C.D"] { #expect(MethodName(argument: text)?.description == "a.b.C/D") }
    for text in ["", "/", "a", "a/", "/a", ".a", "a/b/c"] { #expect(MethodName(argument: text) == nil, "\(text)") }
  }
}
