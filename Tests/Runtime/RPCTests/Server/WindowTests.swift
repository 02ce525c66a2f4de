import HTTP2
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing

/// A stream's window opens before what is wanted whole fills it, whatever came before and however small it is.
@Suite("Windows of streams")
struct WindowTests {
  @Test(
    "A message that fills most of the window comes after one that took less than half of it (RF-04)",
    arguments: [(256 << 10, 120 << 10, 200 << 10), (65_535, 30_000, 65_000), (1_024, 500, 1_000), (16_384, 8_000, 16_370)])
  func afterAnother(_ window: Int, _ first: Int, _ second: Int) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.streamWindowBytes = window
    try await EchoServer.call(configuration: configuration) { client, _ in
      try await client.chat(options: .timeout(.seconds(20))) { call in
        var responses = call.responses
        for count in [first, second, first, second] {
          let text = String(repeating: "x", count: count)
          try await call.send(ChatRequest(text: text))
          let answer = try await responses.next()
          #expect(answer?.text == text)
        }
      }
    }
  }

  @Test("A connection that may hold less than its window opens the window all the same, and refuses what is too large (RF-04)")
  func smallMemory() async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.requestBytes = 256 << 10
    try await EchoServer.call(configuration: configuration) { client, _ in
      let text = String(repeating: "x", count: 200_000)
      for _ in 0..<20 {
        let answer = try await client.echo(.init(text: text), options: .timeout(.seconds(20)))
        #expect(answer.text == text)
      }
      let error = await #expect(throws: RPCError.self) {
        try await client.echo(.init(text: String(repeating: "x", count: 2 << 20)), options: .timeout(.seconds(20)))
      }
      #expect(error?.code == .resourceExhausted)
    }
  }

  @Test(
    "A request larger than its stream's window is received whole, also where the window is below 64 KiB (RF-04)",
    arguments: [1_024, 1_025, 16_384, 65_535, 65_536, 131_071])
  func larger(_ window: Int) async throws {
    var configuration = RPCServerConfiguration()
    configuration.http2.streamWindowBytes = window
    try await EchoServer.call(configuration: configuration) { client, _ in
      for count in [window - 20, window, window * 2, 1 << 20] {
        let text = String(repeating: "x", count: count)
        let answer = try await client.echo(.init(text: text), options: .timeout(.seconds(20)))
        #expect(answer.text == text)
      }
    }
  }
}
