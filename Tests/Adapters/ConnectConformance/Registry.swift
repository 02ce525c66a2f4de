internal import JudgeAPI
public import MessagesCore
internal import MessagesWire
internal import WellKnown

extension MessageRegistry {
  /// What an `Any` of the judge's messages may hold: its requests, which are echoed, and what its errors carry.
  public static let conformance = MessageRegistry(
    [
      Judged.UnaryRequest.self, Judged.IdempotentUnaryRequest.self, Judged.ServerStreamRequest.self,
      Judged.ClientStreamRequest.self, Judged.BidiStreamRequest.self, Judged.UnimplementedRequest.self,
      Judged.ConformancePayload.RequestInfo.self, Judged.Header.self, GoogleRPC.ErrorInfo.self,
      GoogleRPC.RetryInfo.self, GoogleRPC.BadRequest.self,
    ], wire: WireFormat())
}
