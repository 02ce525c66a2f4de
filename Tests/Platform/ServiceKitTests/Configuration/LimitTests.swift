import DemoService
import RPCServer
import Testing

@testable import ServiceKit

@Suite("Keys of limits")
struct LimitTests {
  /// What is no limit, or has a name that is older than `limits.`.
  private static let elsewhere = [
    "maximumRequestBytes": "maxRequestBytes", "maximumCallDuration": "maxCallDuration", "cors": "corsOrigins",
    "responseCompression": "what a service chooses, not an operator", "ignoresUnknownJSONFields": "what clients rely on",
    "messageRegistry": "what is compiled in", "proxies": "trustedProxies",
  ]

  /// Every property by its path with its value, also those of the limits within.
  private static func properties(_ value: Any, _ path: String = "") -> [(path: String, value: String)] {
    Mirror(reflecting: value).children.flatMap { child -> [(path: String, value: String)] in
      let own = path + (child.label ?? "")
      return "\(type(of: child.value))".hasSuffix("Limits") ? properties(child.value, own + ".") : [(own, "\(child.value)")]
    }
  }

  @Test("Every limit of the server and of its connections has one key, and every key a limit")
  func complete() {
    let properties = Self.properties(RPCServerConfiguration()).map(\.path)
    #expect(properties.contains("http2.idleTimeout"))
    #expect(properties.sorted() == (StandardKeys.limits.map(\.property) + Self.elsewhere.keys).sorted())
    #expect(Set(StandardKeys.limits.map(\.key.name)).count == StandardKeys.limits.count)
  }

  @Test("The defaults are those of the limits themselves, and lie within what is allowed")
  func defaults() throws {
    var configuration = RPCServerConfiguration()
    configuration.takeLimits(from: try SettingsTests.settings())
    for (given, taken) in zip(Self.properties(RPCServerConfiguration()), Self.properties(configuration)) {
      #expect(given == taken)
    }
    for limit in StandardKeys.limits {
      let reading = limit.key.read(try #require(limit.key.defaultText))
      guard case .value = reading else {
        Issue.record("the default of \(limit.key.name) is not allowed: \(limit.key.expectation)")
        continue
      }
    }
  }

  @Test("Each key sets the limit that it is named after, and nothing else", arguments: StandardKeys.limits.map(\.property))
  func sets(_ property: String) throws {
    let key = try #require(StandardKeys.limits.first { $0.property == property }).key
    // A value that is no default and within all bounds.
    let text = try #require(
      ["59s", "67890", "6789", "678", "11"].first { text in
        if case .value(_, let text) = key.read(text) { return text != key.defaultText }
        return false
      })
    var configuration = RPCServerConfiguration()
    configuration.takeLimits(from: try SettingsTests.settings(["PARLEY_DEMO_" + key.variable: text]))
    let pairs = zip(Self.properties(RPCServerConfiguration()), Self.properties(configuration))
    #expect(pairs.filter { $0 != $1 }.map(\.0.path) == [property])
  }

  @Test("What is out of bounds is refused by the name of the variable")
  func bounds() {
    let problems = SettingsTests.problems([
      "PARLEY_DEMO_LIMITS_CONCURRENT_STREAMS": "0", "PARLEY_DEMO_LIMITS_IDLE_TIMEOUT": "1ms",
    ])
    #expect(problems.map(\.variable) == ["PARLEY_DEMO_LIMITS_CONCURRENT_STREAMS", "PARLEY_DEMO_LIMITS_IDLE_TIMEOUT"])
    #expect(problems.first?.message == "expected a whole number, 1 to 1000000, got '0'")
  }

  @Test("config check shows them all")
  func report() throws {
    let settings = try SettingsTests.settings()
    let report = ConfigurationReport(program: "parley-demo", settings: settings, problems: [], findings: [], publicMethods: [])
    for limit in StandardKeys.limits { #expect(report.text.contains(limit.key.name), "\(limit.key.name)") }
  }

  @Test(
    "A limit that there may be none of is switched off by its own word",
    arguments: [("none", nil), ("5s", .seconds(5))] as [(String, Duration?)])
  func none(_ text: String, _ value: Duration?) {
    #expect(ValueOrNone<Duration>(configurationText: text)?.value == value)
    #expect(ValueOrNone<Duration>(value).configurationText == text)
    #expect(ValueOrNone<Duration>(configurationText: "never") == nil, "another word")
  }
}
