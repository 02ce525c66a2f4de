import JSON
import Testing

@testable import parley

@Suite("Command line") struct CommandLineTests {
  private static let exchange = "parley.broker.v1.TokenBrokerService/ExchangeToken"
  private static let whoAmI = "parley.broker.v1.TokenBrokerService/WhoAmI"

  @Test("Help names every command and ends with 0")
  func help() async throws {
    let ending = try await ToolProcess.parley(["--help"])
    #expect(ending.status == 0)
    for command in ["call", "list", "describe", "token", "login", "logout", "whoami", "sessions", "id-token", "demo", "version"] {
      #expect(ending.output.contains("  \(command) "))
    }
  }

  @Test(
    "Wrong usage ends with 64 and says what is wrong",
    arguments: [
      (["call"], "package.Service/Method"), (["call", "nonsense", "--target", "x:1"], "package.Service/Method"),
      (["call", whoAmI, "{\"x\":1}", "--target", "x:1"], "unknown field"),
      (["call", whoAmI, "{} {}", "--target", "x:1"], "one request"), (["call", whoAmI, "{}"], "--target"),
      (["call", whoAmI, "-", "--bearer", "-", "--target", "x:1"], "standard input"),
      (["call", whoAmI, "--get", "--target", "x:1"], "connect"),
      (["call", whoAmI, "--target", "nonsense"], "host:port"), (["whoami", "--target", "x:1"], "--id-token"),
      (["token", "--raw", "--json", "--id-token", "t"], "--raw"),
      (["whoami", "--timeout", "soon", "--id-token", "t"], "timeout"),
      (["call", whoAmI, "--metadata", "=x", "--target", "x:1"], "metadata"),
      (["whoami", "--id-token", "@/nowhere", "--target", "x:1"], "/nowhere"),
    ])
  func usage(_ arguments: [String], _ text: String) async throws {
    let ending = try await ToolProcess.parley(arguments)
    #expect(ending.status == 64)
    #expect(ending.errors.contains(text))
    #expect(ending.output.isEmpty)
  }

  @Test("A service that cannot be reached ends with 69")
  func unavailable() async throws {
    let ending = try await ToolProcess.parley(["call", Self.whoAmI, "--target", "127.0.0.1:1", "--json"])
    #expect(ending.status == 69)
    #expect(try parsed(ending.errors)["error"]?["code"]?.string == "UNAVAILABLE")
  }

  @Test("A call sends metadata and token and prints the response as JSON")
  func call() async throws {
    try await StubBroker.serve { target in
      let ending = try await ToolProcess.parley(
        ["call", Self.whoAmI, "{}", "--metadata", "x-note=hello", "--bearer", "abc"], environment: ["PARLEY_TARGET": target])
      #expect(ending.status == 0, "\(ending.errors)")
      let response = try parsed(ending.output)
      #expect(response["sub"]?.string == "Bearer abc")
      #expect(response["name"]?.string == "hello")
      #expect(response["exp"]?.string == "1767326645")
    }
  }

  @Test("A refusal ends with 1 and tells code, reason, details and the time to wait")
  func refusal() async throws {
    try await StubBroker.serve { target in
      let told = try await ToolProcess.parley(["call", Self.exchange, "--bearer", "eager", "--json", "--target", target])
      #expect(told.status == 1)
      #expect(told.output.isEmpty)
      let error = try parsed(told.errors)["error"]
      #expect(error?["code"]?.string == "RESOURCE_EXHAUSTED")
      #expect(error?["number"]?.int64 == 8)
      #expect(error?["reason"]?.string == "RATE_LIMITED_USER")
      #expect(error?["retryAfterSeconds"]?.int64 == 2)
      #expect(error?["details"]?.array?.first?["metadata"] == ["limit": "30"])
      let said = try await ToolProcess.parley(["token", "--id-token", "eager", "--target", target])
      #expect(said.status == 1)
      #expect(said.errors.contains("RESOURCE_EXHAUSTED (RATE_LIMITED_USER): rate limit (user)"))
      #expect(said.errors.contains("try again in 2 s"))
    }
  }

  @Test("The timeout ends a call that hangs")
  func timeout() async throws {
    try await StubBroker.serve { target in
      let ending = try await ToolProcess.parley(
        ["whoami", "--id-token", "slow", "--timeout", "100ms", "--json", "--target", target])
      #expect(ending.status == 1)
      #expect(try parsed(ending.errors)["error"]?["code"]?.string == "DEADLINE_EXCEEDED")
    }
  }

  @Test("A cloud token is printed only when asked for")
  func mask() async throws {
    try await StubBroker.serve { target in
      let environment = ["PARLEY_ID_TOKEN": "abc", "PARLEY_TARGET": target]
      let shown = try await ToolProcess.parley(["token"], environment: environment)
      #expect(shown.status == 0, "\(shown.errors)")
      #expect(!shown.output.contains(StubBroker.token) && shown.output.contains("3599 s"))
      #expect(try await ToolProcess.parley(["token", "--raw"], environment: environment).output == StubBroker.token + "\n")
      let json = try parsed(try await ToolProcess.parley(["token", "--json"], environment: environment).output)
      #expect(json["access_token"]?.string == StubBroker.token && json["expires_in"]?.int64 == 3599)
    }
  }

  @Test("B-40: whoami shows e-mail and subject to people and to programs, and says why it cannot")
  func claims() async throws {
    let file = try ScratchFile(Array("abc\n".utf8))
    try await StubBroker.serve { target in
      let shown = try await ToolProcess.parley(["whoami", "--id-token", "@\(file.path)", "--target", target])
      #expect(shown.output.contains("subject   Bearer abc\n") && shown.output.contains("e-mail    ana@example.org\n"))
      let json = try await ToolProcess.parley(["whoami", "--id-token", "@\(file.path)", "--json", "--target", target])
      let claims = try parsed(json.output)
      #expect(claims["email"]?.string == "ana@example.org" && claims["sub"]?.string == "Bearer abc")
    }
    // Nobody listens there: the hint is what people see, not a table.
    let failed = try await ToolProcess.parley([
      "whoami", "--id-token", "@\(file.path)", "--target", "127.0.0.1:1", "--timeout", "5s",
    ])
    #expect(failed.status != 0 && failed.output.isEmpty && failed.errors.contains("UNAVAILABLE"), "\(failed.errors)")
  }

  @Test("The demo without a running system says what is missing, with 64")
  func demo() async throws {
    let ending = try await ToolProcess.parley(["demo"])
    #expect(ending.status == 64)
    #expect(ending.errors.contains("PARLEY_AUTH_1_H2C"))
  }

  @Test("The settings of a local run are read as the shell wrote them")
  func settings() {
    let file = LocalSettings.parse(Array("# local\nPARLEY_A=127.0.0.1:1\nPARLEY_B=a\\?b\\&c=d\nPARLEY_EMPTY=''\n".utf8))
    let settings = LocalSettings(environment: ["PARLEY_A": "", "PARLEY_1_X": "one", "PARLEY_2_X": "two"], file: file)
    #expect(settings["PARLEY_A"] == "127.0.0.1:1")
    #expect(settings["PARLEY_B"] == "a?b&c=d")
    #expect(settings["PARLEY_EMPTY"] == nil)
    #expect(settings.numbered("PARLEY_", "_X") == ["one", "two"])
  }
}
