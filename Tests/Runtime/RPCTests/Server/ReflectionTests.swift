import EventLoop
import MessagesCore
import MessagesWire
import RPC
import TestAPI
import TestSupport
import Testing
import WellKnown

@testable import RPCServer

@Suite("Server reflection")
struct ReflectionTests {
  typealias Request = GRPCReflectionV1.ServerReflectionRequest
  typealias Response = GRPCReflectionV1.ServerReflectionResponse
  typealias Question = Request.MessageRequest

  private static let names = [
    "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
    "parley.testing.v1.EchoService",
  ]

  private func answers() -> ReflectionAnswers {
    let services = [EchoService.descriptor, GRPCHealthV1.Health.descriptor]
    let reflection = [GRPCReflectionV1.ServerReflection.descriptor, GRPCReflectionV1alpha.ServerReflection.descriptor]
    return ReflectionAnswers(ReflectedFiles((services + reflection).compactMap(\.file)), services: Self.names)
  }

  private func files(_ response: Response) throws -> [GoogleProtobuf.FileDescriptorProto] {
    guard case .fileDescriptorResponse(let found) = response.messageResponse else {
      Issue.record("no files but \(String(describing: response.messageResponse))")
      return []
    }
    return try found.fileDescriptorProto.map { try GoogleProtobuf.FileDescriptorProto(protobuf: $0) }
  }

  private func errorCode(_ response: Response) -> Int32? {
    if case .errorResponse(let error) = response.messageResponse { error.errorCode } else { nil }
  }

  @Test(
    "A symbol of any kind leads to the file that declares it",
    arguments: [
      ("parley.testing.v1.EchoService", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.EchoService.Chat", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Tree", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Tree.label", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Tree.hanging", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Tree.NamedEntry", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Everything.Inner", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Everything.Inner.maybe", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Everything.Mood", "parley/testing/v1/echo.proto"),
      ("parley.testing.v1.Everything.MOOD_SAD", "parley/testing/v1/echo.proto"),
      ("parley.options.v1.Access", "parley/options/v1/access.proto"),
      ("parley.options.v1.ACCESS_PUBLIC", "parley/options/v1/access.proto"),
      ("parley.options.v1.access", "parley/options/v1/access.proto"),
      ("google.protobuf.Struct", "google/protobuf/struct.proto"),
      ("grpc.health.v1.Health.Check", "grpc/health/v1/health.proto"),
      ("grpc.reflection.v1alpha.ServerReflection", "grpc/reflection/v1alpha/reflection.proto"),
    ])
  func symbols(_ symbol: String, _ file: String) throws {
    var answers = answers()
    #expect(try files(answers.answer(Request(messageRequest: .fileContainingSymbol(symbol)))).first?.name == file)
  }

  @Test(
    "What is not there is an error in a message, code NOT_FOUND",
    arguments: [
      Question.fileContainingSymbol("parley.testing.v1.Nothing"), .fileContainingSymbol(""),
      .fileContainingSymbol("parley.testing"),
      .fileContainingSymbol("parley.testing.v1.Everything.Mood.MOOD_SAD"), .fileByFilename("echo.proto"), .fileByFilename(""),
      .fileContainingExtension(.init(containingType: "google.protobuf.MethodOptions", extensionNumber: 50_002)),
      .fileContainingExtension(.init()), .allExtensionNumbersOfType("google.protobuf.Nothing"),
    ])
  func missing(_ question: Question) {
    var answers = answers()
    #expect(errorCode(answers.answer(Request(messageRequest: question))) == 5)
  }

  @Test("A request that asks for nothing is answered with INVALID_ARGUMENT, and the stream goes on")
  func empty() throws {
    var answers = answers()
    #expect(errorCode(answers.answer(Request(host: "h"))) == 3)
    #expect(try files(answers.answer(Request(messageRequest: .fileByFilename("google/protobuf/struct.proto")))).count == 1)
  }

  @Test("Every response holds its request and the host that it names")
  func original() {
    var answers = answers()
    let questions: [Question?] = [
      .listServices("*"), .fileByFilename("google/protobuf/struct.proto"), .fileContainingSymbol("x"),
      .allExtensionNumbersOfType("google.protobuf.MethodOptions"), nil,
    ]
    for question in questions {
      let request = Request(host: "example.org:443", messageRequest: question)
      let response = answers.answer(request)
      #expect(response.originalRequest == request && response.validHost == "example.org:443")
    }
  }

  @Test("A file comes first and its imports after it, each once on a stream; the file asked for comes every time")
  func imports() throws {
    var answers = answers()
    let echo = try files(answers.answer(Request(messageRequest: .fileByFilename("parley/testing/v1/echo.proto"))))
    #expect(echo.first?.name == "parley/testing/v1/echo.proto")
    #expect(
      echo.dropFirst().map { $0.name ?? "" }.sorted() == [
        "google/protobuf/descriptor.proto", "google/protobuf/struct.proto", "google/protobuf/timestamp.proto",
        "parley/options/v1/access.proto",
      ])
    let again = try files(answers.answer(Request(messageRequest: .fileContainingSymbol("parley.testing.v1.Tree"))))
    #expect(again.map(\.name) == ["parley/testing/v1/echo.proto"])
    let access = try files(answers.answer(Request(messageRequest: .fileByFilename("parley/options/v1/access.proto"))))
    #expect(access.map(\.name) == ["parley/options/v1/access.proto"])
    var fresh = self.answers()
    #expect(try files(fresh.answer(Request(messageRequest: .fileByFilename("parley/options/v1/access.proto")))).count == 2)
  }

  @Test("Custom options are part of the files")
  func options() throws {
    var answers = answers()
    let file = try files(answers.answer(Request(messageRequest: .fileContainingSymbol("parley.testing.v1.EchoService"))))[0]
    // Field 50001, a varint: ACCESS_PUBLIC.
    #expect(file.service[0].method[0].options?.unknownFields.bytes == [0x88, 0xb5, 0x18, 0x01])
  }

  @Test("Extensions are found by what they extend, and listed by number")
  func extensions() throws {
    var answers = answers()
    let wanted = GRPCReflectionV1.ExtensionRequest(containingType: "google.protobuf.MethodOptions", extensionNumber: 50_001)
    let file = try files(answers.answer(Request(messageRequest: .fileContainingExtension(wanted))))
    #expect(file.first?.name == "parley/options/v1/access.proto")
    let numbers = answers.answer(Request(messageRequest: .allExtensionNumbersOfType("google.protobuf.MethodOptions")))
    #expect(
      numbers.messageResponse
        == .allExtensionNumbersResponse(.init(baseTypeName: "google.protobuf.MethodOptions", extensionNumber: [50_001])))
    let none = answers.answer(Request(messageRequest: .allExtensionNumbersOfType("parley.testing.v1.Tree")))
    #expect(none.messageResponse == .allExtensionNumbersResponse(.init(baseTypeName: "parley.testing.v1.Tree")))
  }

  @Test("A service that was put together by hand is listed though nothing is known of it")
  func withoutFile() {
    let service = ServiceRoutes(ServiceDescriptor(name: "a.Service", methods: []), [])
    #expect([service].withReflection().map(\.descriptor.name).contains("grpc.reflection.v1.ServerReflection"))
    var answers = ReflectionAnswers(ReflectedFiles([]), services: ["a.Service"])
    #expect(
      answers.answer(Request(messageRequest: .listServices(""))).messageResponse
        == .listServicesResponse(.init(service: [.init(name: "a.Service")])))
    #expect(errorCode(answers.answer(Request(messageRequest: .fileContainingSymbol("a.Service")))) == 5)
  }

  @Test(
    "Both versions answer each request as it comes, and the stream stays open until the client ends it",
    arguments: ["v1", "v1alpha"])
  func stream(_ version: String) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0], settings: [(4, 0x7fff_ffff)])
      peer.send(
        .headers(
          1,
          HPACK.block([
            (":method", "POST"), (":scheme", "http"), (":authority", "test"),
            (":path", "/grpc.reflection.\(version).ServerReflection/ServerReflectionInfo"), ("te", "trailers"),
            ("content-type", "application/grpc"),
          ])))
      let questions: [Question] = [
        .listServices(""), .fileContainingSymbol("nothing"), .fileContainingSymbol("parley.testing.v1.EchoService"),
      ]
      for (index, question) in questions.enumerated() {
        peer.send(.data(1, HTTP2Peer.message(try Request(host: "h", messageRequest: question).protobufBytes())))
        try await peer.wait("answer \(index + 1)") { HTTP2Peer.messages(in: peer.streams[1]?.body ?? []).count == index + 1 }
      }
      #expect(peer.streams[1]?.isEnded == false)
      peer.send(.data(1, [], ends: true))
      let end = try await peer.response(1)
      #expect(end.status == 0)
      let responses = try HTTP2Peer.messages(in: end.body).map { try Response(protobuf: $0) }
      let listed = Self.names.dropFirst().map { GRPCReflectionV1.ServiceResponse(name: $0) }
      #expect(responses[0].messageResponse == .listServicesResponse(.init(service: Array(listed))))
      #expect(errorCode(responses[1]) == 5)
      #expect(try files(responses[2]).count == 5)
      peer.close()
    }
  }
}
