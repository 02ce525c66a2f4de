import MessagesCore
import MessagesWire
import Testing
import WellKnown

@testable import protoc_gen_parley

@Suite("What the generator asks of a method")
struct GeneratedAccessTests {
  /// The answer for a service of one method, whose option `(parley.options.v1.access)` has this number; nil: it says nothing.
  private static func answer(
    access: UInt8?, package: String = "parley.notes.v1"
  ) throws -> GoogleProtobufCompiler.CodeGeneratorResponse {
    var method = GoogleProtobuf.MethodDescriptorProto()
    method.name = "Read"
    method.inputType = ".\(package).Note"
    method.outputType = ".\(package).Note"
    if let access {
      // Field 50001, a number; and field 34: it changes nothing, which is the other thing that has to be said.
      method.options = try GoogleProtobuf.MethodOptions(protobuf: [0x88, 0xb5, 0x18, access, 0x90, 0x02, 0x01])
    }
    var service = GoogleProtobuf.ServiceDescriptorProto()
    service.name = "NotesService"
    service.method = [method]
    var message = GoogleProtobuf.DescriptorProto()
    message.name = "Note"
    var file = GoogleProtobuf.FileDescriptorProto()
    file.name = "\(package.split(separator: ".").joined(separator: "/"))/notes.proto"
    file.package = package
    file.syntax = "proto3"
    file.messageType = [message]
    file.service = [service]
    var request = GoogleProtobufCompiler.CodeGeneratorRequest()
    request.parameter = "Module=ParleyAPI,Visibility=public,Map=parley:ParleyAPI"
    request.fileToGenerate = [file.name ?? ""]
    request.protoFile = [file]
    return Generator(request: request).response()
  }

  @Test("A method that forgets to say who may call it gets no code", arguments: [nil, 0, 8, 99] as [UInt8?])
  func forgotten(_ access: UInt8?) throws {
    let response = try Self.answer(access: access)
    #expect(
      response.error
        == "parley.notes.v1.NotesService.Read does not say who may call it: set option (parley.options.v1.access)")
    #expect(response.file.isEmpty)
  }

  @Test(
    "A method that says who may call it carries that into the generated code",
    arguments: [
      (1, "public"), (2, "device"), (3, "googleIDToken"), (4, "session"), (5, "subscribed"), (6, "admin"), (7, "service"),
    ] as [(UInt8, String)])
  func said(_ access: UInt8, _ name: String) throws {
    let response = try Self.answer(access: access)
    #expect(response.error == nil && response.file.contains { $0.content?.contains("access: .\(name)") == true })
  }
}
