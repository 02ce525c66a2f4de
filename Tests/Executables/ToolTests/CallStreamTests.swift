import EventLoop
import Glibc
import JSON
import RPC
import RPCServer
import TestAPI
import TestSupport
import Testing

/// `parley call` against a server whose API is not compiled in.
@Suite("Calls of every kind from the command line") struct CallStreamTests {
  private static let echo = "parley.testing.v1.EchoService/"
  /// The ways to speak, as options.
  static let wires: [[String]] = [
    ["--protocol", "grpc"], ["--protocol", "grpc", "--codec", "json"], ["--protocol", "grpc", "--compression", "gzip"],
    ["--protocol", "grpcweb"], ["--protocol", "connect"], ["--protocol", "connect", "--codec", "json"],
    ["--protocol", "connect", "--compression", "gzip"],
  ]

  private static func serve(_ body: (EchoServer, String) async throws -> Void) async throws {
    let server = try EchoServer.start()
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(server, "127.0.0.1:\(server.port)")) } catch { outcome = .failure(error) }
    try await server.stop()
    try outcome.get()
  }

  private static func call(_ method: String, _ arguments: [String], _ target: String) async throws -> ToolProcess.Ending {
    try await ToolProcess.parley(["call", echo + method] + arguments + ["--target", target])
  }

  @Test("One request, one response, over every protocol", arguments: wires)
  func unary(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let request = #"{"text":"größer \u0007","body":"AP8=","sequence":"-9007199254740993"}"#
      let ending = try await Self.call("Echo", [request] + wire, target)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(ending.output == request + "\n")
    }
  }

  @Test("Many responses are printed as a line each, over every protocol", arguments: wires)
  func serverStream(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let ending = try await Self.call("Count", [#"{"to": 100}"#] + wire, target)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(ending.output == (1...100).map { "{\"number\":\($0)}\n" }.joined())
    }
  }

  @Test("Many requests in one argument, over the protocols that carry them", arguments: wires.filter { $0[1] != "grpcweb" })
  func clientStream(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let ending = try await Self.call("Sum", [#"{"number":1}{"number":"2"} {"number":3}"#] + wire, target)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(ending.output == "{\"total\":\"6\",\"count\":3}\n")
    }
  }

  @Test("A conversation: each line is answered before the next is typed", arguments: wires.filter { $0[1] != "grpcweb" })
  func conversation(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let tool = try ToolConversation(["call", Self.echo + "Chat", "--target", target] + wire)
      for word in ["one", "two", "three"] {
        try tool.write("{\"text\":\"\(word)\"}\n")
        #expect(try await tool.line() == "{\"text\":\"\(word)\"}")
      }
      // Two at once, the second in two halves, without white space between.
      try tool.write(#"{"text":"a}\""}{"te"#)
      #expect(try await tool.line() == #"{"text":"a}\""}"#)
      try tool.write(#"xt":"b"}"#)
      #expect(try await tool.line() == #"{"text":"b"}"#)
      tool.endInput()
      #expect(try await tool.line() == nil)
      #expect(try await tool.ending().status == 0)
    }
  }

  @Test("Ctrl-C ends the call on both sides")
  func interrupt() async throws {
    try await Self.serve { server, target in
      let tool = try ToolConversation(["call", Self.echo + "Sleep", "--timeout", "10m", "--target", target])
      try await server.handlers.sleeping.wait { $0 == 1 }
      tool.signal(SIGINT)
      #expect(try await tool.ending().status == 128 + SIGINT)
      try await server.handlers.cancelled.wait { $0 == 1 }
    }
  }

  @Test("A deadline ends a stream, and one that nobody set does not")
  func deadline() async throws {
    try await Self.serve { server, target in
      let ending = try await Self.call("Chat", [#"{"text":"x"}"#, "--timeout", "30s"], target)
      #expect(ending.status == 0 && ending.output == "{\"text\":\"x\"}\n")
      let slow = try ToolConversation(["call", Self.echo + "Chat", "--timeout", "3s", "--json", "--target", target])
      try slow.write(#"{"text":"x"}"#)
      #expect(try await slow.line() == #"{"text":"x"}"#)
      // The input stays open: only the deadline can end it.
      let end = try await slow.ending()
      #expect(end.status == 1)
      #expect(try parsed(end.errors)["error"]?["code"]?.string == "DEADLINE_EXCEEDED")
    }
  }

  @Test("A request that is no such message ends the call with 64 and says why")
  func badRequest() async throws {
    try await Self.serve { _, target in
      let tool = try ToolConversation(["call", Self.echo + "Chat", "--target", target])
      try tool.write(#"{"text":"fine"} {"nothing":1}"#)
      let end = try await tool.ending()
      #expect(end.status == 64)
      #expect(end.errors.contains("unknown field"))
      for request in ["", "{} {}", "{", "[]"] {
        #expect(try await Self.call("Echo", [request], target).status == 64, "\(request)")
      }
    }
  }

  @Test("A refusal tells code, reason and details over every protocol", arguments: wires)
  func refusal(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let request = #"{"code":9,"message":"näher \u001b[2J","reason":"WHY"}"#
      let told = try await Self.call("Fail", [request, "--json"] + wire, target)
      #expect(told.status == 1 && told.output.isEmpty)
      let error = try parsed(told.errors)["error"]
      #expect(error?["code"]?.string == "FAILED_PRECONDITION" && error?["reason"]?.string == "WHY")
      #expect(error?["details"]?.array?.count == 4)
      let said = try await Self.call("Fail", [request] + wire, target)
      #expect(said.errors.contains(#"FAILED_PRECONDITION (WHY): näher \u{1b}[2J"#))
    }
  }

  @Test("-v shows initial and trailing metadata, over every protocol", arguments: wires)
  func metadata(_ wire: [String]) async throws {
    try await Self.serve { _, target in
      let request = #"{"initial":{"x-first":"1"},"trailing":{"x-last":"2"}}"#
      let ending = try await Self.call("Metadata", [request, "-v", "--metadata", "x-sent=3"] + wire, target)
      #expect(ending.status == 0, "\(ending.errors)")
      #expect(ending.errors.contains("initial x-first: 1\n") && ending.errors.contains("trailing x-last: 2\n"))
      #expect(try parsed(ending.output)["received"]?["x-sent"]?.string == "3")
    }
  }

  @Test("A reader that goes away ends the program")
  func brokenPipe() async throws {
    try await Self.serve { server, target in
      let ends = try ToolConversation.pair()
      let tool = try ToolProcess.spawn("parley", ["call", Self.echo + "Count", #"{"to":100000000}"#, "--target", target]) {
        actions in
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends.theirs, 1)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
      }
      close(ends.theirs)
      close(ends.ours)
      let pool = BlockingPool(maximumThreads: 1)
      #expect(try await pool.run { ToolProcess.wait(for: tool) } == 128 + SIGPIPE)
      pool.shutDown()
      try await server.handlers.ended.wait { $0 == 1 }
    }
  }
}
