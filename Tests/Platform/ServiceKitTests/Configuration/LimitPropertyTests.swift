import EventLoop
import Glibc
import HTTP2
import MessagesCore
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestRandom
import TestSupport
import Testing

@testable import ServiceKit

/// Settings of limits, each within its bounds: a server either does not start with them, and says why, or serves with them.
@Suite("Limits, set at random and at their bounds", .serialized)
struct LimitPropertyTests {
  /// How many settings: a tenth of what `make property` tries, because tests are built for debugging.
  static var count: Int { getenv("PARLEY_PROPERTY_LIMIT_RUNS").flatMap { Int(String(cString: $0)) } ?? 200 }

  static var seed: UInt64 {
    getenv("PARLEY_PROPERTY_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
  }

  private static let largest = 1 << 20

  /// What `config check` says of an environment, and the configuration that follows from it.
  private static func check(_ environment: [String: String]) throws -> (errors: [ConfigurationFinding], RPCServerConfiguration) {
    let settings = try SettingsTests.settings(Dictionary(uniqueKeysWithValues: environment.map { ("PARLEY_DEMO_\($0)", $1) }))
    let configuration = RPCServerConfiguration(settings)
    return (LimitRelations(configuration).findings.filter { $0.severity == .error }, configuration)
  }

  // MARK: What a server must do

  /// Takes a message of the largest size (of a mebibyte at most), and streams both ways, also messages that fill most of a window
  /// after others that filled less than half of it.
  private static func serves(_ configuration: RPCServerConfiguration, besides bytes: Int = 0) async throws {
    try await EchoServer.call(configuration: configuration) { client, _ in
      let most = min(configuration.maximumRequestBytes, max(largest, bytes))
      let whole = EchoRequest(body: Bytes([UInt8](repeating: 7, count: most - 5)))
      let echoed = try await client.echo(whole, options: .timeout(.seconds(30)))
      #expect(echoed.body.count == whole.body.count)
      let window = configuration.http2.streamWindowBytes
      let texts = [window * 2 / 5, window * 9 / 10, window * 2, 1].map { count in
        String(repeating: "x", count: max(0, min(count, most - 5)))
      }
      try await client.chat(options: .timeout(.seconds(30))) { call in
        var responses = call.responses
        for text in texts {
          try await call.send(ChatRequest(text: text))
          let answer = try await responses.next()
          #expect(answer?.text == text)
        }
        try await call.finishSending()
        let end = try await responses.next()
        #expect(end == nil)
      }
    }
  }

  /// Runs one case, and says what was wrong with it.
  private static func problem(_ environment: [String: String], _ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch {
      return "\(error) with \(environment.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "))"
    }
  }

  // MARK: At random

  @Test("Settings within their bounds are refused with a reason, or serve (RF-04)", arguments: [LimitPropertyTests.seed])
  func random(seed: UInt64) async throws {
    print("limit property: seed \(seed), \(Self.count) settings")
    var refused = 0
    for number in 0..<Self.count {
      var random = SeededRandom(seed &+ UInt64(number))
      var environment: [String: String] = [:]
      // A few limits each, so that not all are refused; or all of them.
      let share = [4, 10, 40][random.below(3)]
      for limit in StandardKeys.limits where random.below(40) < share {
        environment[limit.key.variable] = Self.draw(limit, &random)
      }
      if random.below(2) == 0 { environment["MAX_REQUEST_BYTES"] = "\(Self.logarithmic(1_024, 1 << 26, &random))" }
      let (errors, configuration) = try Self.check(environment)
      guard errors.isEmpty else {
        refused += 1
        #expect(errors.allSatisfy { !$0.message.isEmpty && $0.key.hasPrefix("limits.") })
        continue
      }
      if let problem = await Self.problem(environment, { try await Self.serves(configuration) }) {
        Issue.record("seed \(seed), setting \(number): \(problem)")
        return
      }
    }
    print("limit property: \(refused) of \(Self.count) refused")
    // What refuses everything, or nothing, proves nothing.
    #expect(refused > Self.count / 20 && refused < Self.count * 19 / 20)
  }

  /// Any value within the bounds, small ones as likely as large ones.
  private static func draw(_ limit: LimitKey, _ random: inout SeededRandom) -> String {
    if let least = Int(limit.bounds.least), let most = Int(limit.bounds.most) { return "\(logarithmic(least, most, &random))" }
    let least = Duration(configurationText: limit.bounds.least) ?? .zero
    let most = Duration(configurationText: limit.bounds.most) ?? .zero
    let milliseconds = logarithmic(Int(least / .milliseconds(1)), Int(most / .milliseconds(1)), &random)
    return "\(milliseconds)ms"
  }

  private static func logarithmic(_ least: Int, _ most: Int, _ random: inout SeededRandom) -> Int {
    switch random.below(8) {
    case 0: return least
    case 1: return most
    default:
      let share = Double(random.below(1 << 20)) / Double(1 << 20)
      let low = log(Double(max(least, 1)))
      return min(most, max(least, Int(exp(low + (log(Double(max(most, 1))) - low) * share))))
    }
  }

  // MARK: At the bounds

  @Test(
    "At each bound of each limit calls larger than it are answered, or config check says what else it takes (RF-04)",
    arguments: StandardKeys.limits.map(\.property))
  func bounds(_ property: String) async throws {
    let limit = try #require(StandardKeys.limits.first { $0.property == property })
    for text in [limit.bounds.least, limit.bounds.most] {
      var environment = [limit.key.variable: text]
      var (errors, configuration) = try Self.check(environment)
      // What it takes is what is said: with that, it serves.
      for _ in 0..<3 where !errors.isEmpty {
        for error in errors {
          let key = try #require(StandardKeys.limits.first { $0.key.name == error.key }).key
          let said = try #require(error.message.firstMatch(of: /must be at least ([0-9]+)/))
          environment[key.variable] = String(said.1)
        }
        (errors, configuration) = try Self.check(environment)
      }
      guard errors.isEmpty else {
        // The limit's own bound is below what the others take.
        Issue.record("\(property)=\(text): \(errors)")
        continue
      }
      let bytes = Int(text).map { $0 < 2 << 20 ? 2 * $0 : 0 } ?? 0
      if let problem = await Self.problem(environment, { try await Self.serves(configuration, besides: bytes) }) {
        Issue.record("\(property)=\(text): \(problem)")
      }
    }
  }

  @Test(
    "A connection's window that leaves no room for a request, and a budget below the largest request, are refused (RF-04)",
    arguments: [
      (["LIMITS_REQUEST_BYTES": "1048575"], "limits.requestBytes"),
      (["LIMITS_CONNECTION_WINDOW_BYTES": "67108864"], "limits.requestBytes"),
      (["LIMITS_STREAM_WINDOW_BYTES": "67108864", "LIMITS_PROCESS_REQUEST_BYTES": "1073741824"], "limits.requestBytes"),
      (["LIMITS_PROCESS_REQUEST_BYTES": "4194304"], "limits.processRequestBytes"),
      (["MAX_REQUEST_BYTES": "31457280"], "limits.requestBytes"),
      (["LIMITS_HTTP_BODY_BYTES": "31457280"], "limits.requestBytes"),
    ])
  func refused(_ environment: [String: String], _ key: String) throws {
    #expect(try Self.check(environment).errors.map(\.key) == [key])
  }

  @Test("The defaults are in order")
  func defaults() throws { #expect(try Self.check([:]).errors.isEmpty) }
}
