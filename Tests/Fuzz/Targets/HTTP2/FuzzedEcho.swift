import EventLoop
import MessagesCore
import RPC
import Synchronization
import TestAPI

/// The echo service for hostile callers: it does what it is told within bounds, and counts its handlers.
final class FuzzedEcho: EchoService.Handlers {
  private let count = Atomic<Int>(0)

  /// Handlers that have begun and not ended.
  var running: Int { count.load(ordering: .relaxed) }

  private func counted<Value>(_ body: () async throws -> Value) async throws -> Value {
    count.add(1, ordering: .relaxed)
    defer { count.subtract(1, ordering: .relaxed) }
    return try await body()
  }

  func echo(_ request: EchoRequest, _ call: CallContext) async throws -> EchoResponse {
    try await counted { EchoResponse(text: request.text, body: request.body, sequence: request.sequence) }
  }

  func echoTree(_ request: EchoTreeRequest, _ call: CallContext) async throws -> EchoTreeResponse {
    try await counted {
      // One that suspends: the rest of its call comes by way of the loop.
      try await EventLoop.current?.sleep(for: .zero)
      var response = EchoTreeResponse(tree: request.tree)
      response.unknownFields = request.unknownFields
      return response
    }
  }

  func echoStruct(_ request: EchoStructRequest, _ call: CallContext) async throws -> EchoStructResponse {
    try await counted { EchoStructResponse(object: request.object) }
  }

  func echoDescriptor(_ request: EchoDescriptorRequest, _ call: CallContext) async throws -> EchoDescriptorResponse {
    try await counted { EchoDescriptorResponse(file: request.file) }
  }

  func fail(_ request: FailRequest, _ call: CallContext) async throws -> FailResponse {
    try await counted {
      guard let code = StatusCode(rawValue: Int(request.code)) else { throw Unexpected() }
      guard code != .ok else { return FailResponse() }
      throw RPCError(
        code, request.message,
        details: [
          .errorInfo(reason: request.reason, domain: "fuzz", metadata: ["key": request.message]),
          .retryInfo(.milliseconds(1_500)),
          .badRequest([.init(field: request.reason, description: request.message)]),
        ])
    }
  }

  func sleep(_ request: SleepRequest, _ call: CallContext) async throws -> SleepResponse {
    try await counted {
      try await EventLoop.current?.sleep(for: .seconds(600))
      return SleepResponse()
    }
  }

  func metadata(_ request: MetadataRequest, _ call: CallContext) async throws -> MetadataResponse {
    try await counted {
      for (name, value) in request.initial { try add(name, value, to: &call.initialMetadata) }
      for (name, value) in request.trailing { try add(name, value, to: &call.trailingMetadata) }
      var received: [String: String] = [:]
      for entry in call.metadata.entries {
        switch entry.value {
        case .text(let text): received[entry.name, default: ""] += text
        case .binary(let bytes): received[entry.name, default: ""] += MetadataBase64.encode(bytes)
        }
      }
      return MetadataResponse(received: received)
    }
  }

  func count(_ request: CountRequest, _ responses: ResponseWriter<CountResponse>, _ call: CallContext) async throws {
    try await counted {
      let payload = Bytes([UInt8](repeating: 0, count: Int(min(max(request.payloadSize, 0), 4_096))))
      for number in stride(from: Int32(1), through: min(request.to, 64), by: 1) {
        try await responses.write(CountResponse(number: number, payload: payload))
      }
    }
  }

  func sum(_ requests: RequestStream<SumRequest>, _ call: CallContext) async throws -> SumResponse {
    try await counted {
      var response = SumResponse()
      for try await request in requests {
        response.total &+= request.number
        response.count += 1
      }
      return response
    }
  }

  func chat(
    _ requests: RequestStream<ChatRequest>, _ responses: ResponseWriter<ChatResponse>, _ call: CallContext
  ) async throws {
    try await counted { for try await request in requests { try await responses.write(ChatResponse(text: request.text)) } }
  }

  func guarded(_ request: GuardedRequest, _ call: CallContext) async throws -> GuardedResponse {
    try await counted { GuardedResponse(caller: call.metadata["authorization"] ?? "nobody") }
  }

  private func add(_ name: String, _ value: String, to metadata: inout Metadata) throws {
    if name.hasSuffix("-bin") {
      try metadata.append(checking: name, Array(value.utf8))
    } else {
      try metadata.append(checking: name, value)
    }
  }

  private struct Unexpected: Error {}
}
