import EventLoop
import MessagesCore
import RPC
import RPCClient
import TestAPI

/// One call of each kind, and how many have ended.
struct FuzzedCalls {
  let channel: ClientChannel
  let tally: CallTally
  let options: CallOptions

  /// Starts the calls whose bits are set: unary, server, client and bidirectional streaming.
  func start(_ kinds: UInt8, on loop: EventLoop) -> [Task<Void, Never>] {
    let client = EchoService.Client(channel)
    var tasks: [Task<Void, Never>] = []
    let begin = { (body: @escaping @Sendable () async throws -> Void) in
      let tally = tally
      tasks.append(
        loop.spawn {
          do { try await body() } catch { tally.failed(error) }
          tally.end()
        })
    }
    let options = options
    if kinds & 1 != 0 {
      begin { _ = try await client.echo(.init(text: "hi", body: Bytes([1, 2, 3]), sequence: 5), options: options) }
    }
    if kinds & 2 != 0 {
      begin {
        try await client.channel.stream(EchoService.Methods.count, options) { call in
          try await call.send(.init(to: 3))
          try await call.finishSending()
          _ = try await call.initialMetadata()
          for try await response in call.responses { _ = response.number }
          _ = await call.trailingMetadata()
        }
      }
    }
    if kinds & 4 != 0 {
      begin {
        try await client.channel.stream(EchoService.Methods.sum, options) { call in
          for number in 1...4 { try await call.send(.init(number: Int64(number))) }
          try await call.finishSending()
          var responses = call.responses
          _ = try await responses.only()
        }
      }
    }
    if kinds & 8 != 0 {
      begin {
        try await client.channel.stream(EchoService.Methods.chat, options) { call in
          try await call.send(.init(text: "a"))
          for try await response in call.responses { try await call.send(.init(text: response.text)) }
        }
      }
    }
    return tasks
  }
}

/// How many calls have ended, and that each ended as a call may.
final class CallTally: Sendable {
  private let count = Counter()

  var ended: Int { count.value }

  func end() { count.add(1) }

  func failed(_ error: any Error) {
    guard let error = error as? RPCError else { return require(error is CancellationError, "a call ends with \(error)") }
    require(error.code != .ok, "a call fails with OK")
  }
}
