import ConnectConformance
import JudgeAPI
import MessagesCore

/// A response of the judge's service.
protocol Answer: Message {
  /// What it carries.
  var payload: Conformance.ConformancePayload? { get }
}

extension Conformance.UnaryResponse: Answer {}
extension Conformance.IdempotentUnaryResponse: Answer {}
extension Conformance.ServerStreamResponse: Answer {}
extension Conformance.ClientStreamResponse: Answer {}
extension Conformance.BidiStreamResponse: Answer {}

extension Conformance.UnimplementedResponse: Answer {
  /// Nothing.
  var payload: Conformance.ConformancePayload? { nil }
}
