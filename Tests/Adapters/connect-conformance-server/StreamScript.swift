import ConnectConformance
import JudgeAPI
import MessagesCore
import RPC

/// How a stream is answered, step by step.
struct StreamScript {
  private let data: [Bytes]
  private let delay: Duration
  private let error: Judged.Error?
  private var given = 0

  /// The steps of `definition`; its headers and trailers become those of the call. Without one there are no steps.
  init(_ definition: Judged.StreamResponseDefinition?, _ call: CallContext) throws {
    guard definition?.rawResponse == nil else { throw RPCError.rawResponse }
    data = definition?.responseData ?? []
    delay = .milliseconds(definition?.responseDelayMs ?? 0)
    error = definition?.error
    call.initialMetadata.append(contentsOf: try Metadata(definition?.responseHeaders ?? []))
    call.trailingMetadata.append(contentsOf: try Metadata(definition?.responseTrailers ?? []))
    if !data.isEmpty { call.sendInitialMetadata() }
  }

  /// Whether ``next()`` has given the first answer and no other.
  var isFirst: Bool { given == 1 }

  /// The data of the next answer after its delay, or nil when none is left.
  mutating func next() async throws -> Bytes? {
    guard given < data.count else { return nil }
    if delay > .zero { try await Task.sleep(for: delay) }
    given += 1
    return data[given - 1]
  }

  /// Ends the call as it was asked for. An error before any answer tells what was received.
  func end(_ info: RequestInfo) throws {
    guard let error else { return }
    throw given == 0 ? try info.error(error) : RPCError(error)
  }
}

extension RPCError {
  /// What a wish to bypass the implementation is answered with.
  static var rawResponse: RPCError {
    RPCError(.unimplemented, "a raw response is not sent here: it would not be the server's own")
  }
}
