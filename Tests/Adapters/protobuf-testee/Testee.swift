import JudgeAPI
import MessagesCore
import MessagesWire
import WellKnown

/// Answers the requests of the conformance suite with the codecs that the services use.
struct Testee {
  private typealias Subject = ProtobufTestMessagesProto3.TestAllTypesProto3
  typealias Response = Conformance.ConformanceResponse

  /// What the suite packs into an `Any`.
  private static let registry = MessageRegistry(
    [
      Subject.self, Subject.NestedMessage.self, ProtobufTestMessagesProto3.ForeignMessage.self,
      GoogleProtobuf.AnyMessage.self, GoogleProtobuf.Duration.self, GoogleProtobuf.Empty.self, GoogleProtobuf.FieldMask.self,
      GoogleProtobuf.ListValue.self, GoogleProtobuf.Struct.self, GoogleProtobuf.Timestamp.self, GoogleProtobuf.Value.self,
      GoogleProtobuf.BoolValue.self, GoogleProtobuf.BytesValue.self, GoogleProtobuf.DoubleValue.self,
      GoogleProtobuf.FloatValue.self, GoogleProtobuf.Int32Value.self, GoogleProtobuf.Int64Value.self,
      GoogleProtobuf.StringValue.self, GoogleProtobuf.UInt32Value.self, GoogleProtobuf.UInt64Value.self,
    ], wire: WireFormat())

  /// The answer to one request, whatever its bytes.
  func answer(to bytes: [UInt8]) -> Response {
    do {
      return Response(result: result(of: try Conformance.ConformanceRequest(protobuf: bytes)))
    } catch {
      return Response(result: .runtimeError("the request is not a ConformanceRequest: \(error)"))
    }
  }

  private func result(of request: Conformance.ConformanceRequest) -> Response.Result {
    switch request.messageType {
    case "conformance.FailureSet": return .protobufPayload(Bytes())
    case Subject.descriptor.name: break
    default: return .skipped("no message of proto2, and no \(request.messageType)")
    }
    let message: Subject
    do throws(DecodeError) {
      switch request.payload {
      case .protobufPayload(let bytes): message = try Subject(protobuf: bytes)
      case .jsonPayload(let text):
        let ignores = request.testCategory == .jsonIgnoreUnknownParsingTest
        message = try Subject(
          jsonString: text, options: JSONDecodingOptions(ignoresUnknownFields: ignores, registry: Self.registry))
      case .jspbPayload: return .skipped("no JSPB")
      case .textPayload: return .skipped("no text format")
      case nil: return .runtimeError("the request has no payload")
      }
    } catch {
      return .parseError("\(error)")
    }
    do throws(EncodeError) {
      switch request.requestedOutputFormat {
      case .protobuf: return .protobufPayload(Bytes(try message.protobufBytes()))
      case .json: return .jsonPayload(try message.jsonString(options: JSONEncodingOptions(registry: Self.registry)))
      case .jspb: return .skipped("no JSPB")
      case .textFormat: return .skipped("no text format")
      default: return .runtimeError("the request names no output format")
      }
    } catch {
      return .serializeError("\(error)")
    }
  }
}
