import ConnectConformance
import JudgeAPI
import MessagesCore
import RPC

/// The messages of one call, sent, received and given up as the judge asks.
struct Conversation<Request: Message, Response: Answer> {
  private let request: Judged.ClientCompatRequest
  private let stream: ClientStream<Request, Response>
  private var responses: ResponseStream<Response>
  private var result = Judged.ClientResponseResult()

  init(_ request: Judged.ClientCompatRequest, _ stream: ClientStream<Request, Response>) {
    self.request = request
    self.stream = stream
    responses = stream.responses
  }

  /// Holds the whole conversation; what came of it.
  mutating func hold(with messages: [Request]) async -> Judged.ClientResponseResult {
    do throws(RPCError) {
      try await talk(messages)
    } catch {
      result.error = error.report
    }
    if let headers = try? await stream.initialMetadata() { result.responseHeaders = headers.headers }
    result.responseTrailers = await stream.trailingMetadata().headers
    return result
  }

  private mutating func talk(_ messages: [Request]) async throws(RPCError) {
    result.numUnsentRequests = Int32(messages.count)
    for message in messages {
      if request.requestDelayMs > 0 { try await pause(.milliseconds(request.requestDelayMs)) }
      // A call that has ended takes no more requests; how it ended is heard from its responses.
      do { try await stream.send(message) } catch { break }
      result.numUnsentRequests -= 1
      if request.streamType == .fullDuplexBidiStream, try await !receive() { return }
    }
    switch request.cancel?.cancelTiming {
    case .beforeCloseSend:
      stream.cancel()
      while try await receive() {}
    case .afterCloseSendMs(let milliseconds):
      try? await stream.finishSending()
      let stream = stream
      async let _: Void = {
        guard (try? await Task.sleep(for: .milliseconds(milliseconds))) != nil else { return }
        stream.cancel()
      }()
      while try await receive() {}
    case .afterNumResponses, nil:
      try? await stream.finishSending()
      if request.cancel?.cancelTiming == .afterNumResponses(0) { stream.cancel() }
      while try await receive() {}
    }
  }

  /// Takes one response; false after the last.
  private mutating func receive() async throws(RPCError) -> Bool {
    guard let response = try await responses.next() else { return false }
    result.payloads.append(response.payload ?? .init())
    if case .afterNumResponses(let count) = request.cancel?.cancelTiming, result.payloads.count == Int(count) { stream.cancel() }
    return true
  }

  private func pause(_ duration: Duration) async throws(RPCError) {
    do { try await Task.sleep(for: duration) } catch { throw RPCError(.cancelled, "the call was given up") }
  }
}
