import EventLoop
import JudgeAPI
import MessagesCore
import RPC
import RPCClient

/// Many calls, one after the other.
enum SoakCases {
  static let all = [
    TestCase("rpc_soak") { stage in try await soak(stage) { stage.channel } },
    TestCase("channel_soak") { stage in
      try await soak(stage, closes: true) { stage.newChannel() }
    },
  ]

  private static func soak(_ stage: Stage, closes: Bool = false, channel: () -> ClientChannel) async throws {
    let options = stage.soak
    var failures = 0
    var last = "none"
    for number in 1...max(options.iterations, 1) {
      let started = MonotonicInstant.now()
      let channel = channel()
      do {
        let response = try await channel.unary(
          GRPCTesting.TestService.Methods.unaryCall,
          .init(responseSize: options.responseBytes, payload: .zeros(options.requestBytes)), .init())
        let took = MonotonicInstant.now().duration(since: started)
        try (response.message.payload ?? .init()).expectZeros(options.responseBytes)
        try expect(took <= .milliseconds(options.maximumLatencyMilliseconds), "it took \(took)")
      } catch {
        failures += 1
        last = "call \(number): \(error)"
      }
      if closes { await channel.close() }
      let pause = Duration.milliseconds(options.minimumIntervalMilliseconds) - MonotonicInstant.now().duration(since: started)
      if pause > .zero { try await Task.sleep(for: pause) }
    }
    try expect(failures <= options.maximumFailures, "\(failures) of \(options.iterations) calls failed, the last being \(last)")
  }
}
