import ConnectConformance
import JudgeAPI
import MessagesCore

/// A response of the judge's service.
protocol Answer: Message {
  /// What it carries.
  var payload: Judged.ConformancePayload? { get }
}

extension Judged.UnaryResponse: Answer {}
extension Judged.IdempotentUnaryResponse: Answer {}
extension Judged.ServerStreamResponse: Answer {}
extension Judged.ClientStreamResponse: Answer {}
extension Judged.BidiStreamResponse: Answer {}

extension Judged.UnimplementedResponse: Answer {
  /// Nothing.
  var payload: Judged.ConformancePayload? { nil }
}
