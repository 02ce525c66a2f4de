internal import JudgeAPI
public import MessagesCore
internal import MessagesWire
internal import WellKnown

extension MessageRegistry {
  /// What an `Any` of the judge's messages may hold: its requests, which are echoed, and what its errors carry.
  public static let conformance = MessageRegistry(
    [
      Conformance.UnaryRequest.self, Conformance.IdempotentUnaryRequest.self, Conformance.ServerStreamRequest.self,
      Conformance.ClientStreamRequest.self, Conformance.BidiStreamRequest.self, Conformance.UnimplementedRequest.self,
      Conformance.ConformancePayload.RequestInfo.self, Conformance.Header.self, GoogleRPC.ErrorInfo.self,
      GoogleRPC.RetryInfo.self, GoogleRPC.BadRequest.self,
    ], wire: WireFormat())
}
