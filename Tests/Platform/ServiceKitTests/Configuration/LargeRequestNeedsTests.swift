import HTTP2
import Logging
import RPC
import RPCServer
import Testing

@testable import ServiceKit

@Suite("What large requests need")
struct LargeRequestNeedsTests {
  /// A service that takes 96 MiB in the first room and 20 MiB in one with a name.
  private enum Roomy: Service {
    static let name = "demo"
    static let configuration: [any ConfigurationKeyDeclaration] = []
    static let services: [ServiceDescriptor] = []
    static let largestRequests = [RequestLimit.room: 96 << 20, "words": 20 << 20]
    static func build(_ context: ServiceContext) async throws -> ServiceParts { ServiceParts() }
  }

  /// One that takes more than it says.
  private enum Greedy: Service {
    static let name = "demo"
    static let configuration: [any ConfigurationKeyDeclaration] = []
    static let services: [ServiceDescriptor] = []
    static let largestRequests = ["words": 20 << 20]
    static func build(_ context: ServiceContext) async throws -> ServiceParts {
      ServiceParts(http: [HTTPRoute("/words", maximumBodyBytes: (20 << 20) + 1, room: "words") { _ in .text(200, "ok") }])
    }
  }

  private static func settings(_ environment: [String: String] = [:]) throws -> Settings {
    try Settings(service: "demo", keys: Roomy.keys, flags: ["listen": "127.0.0.1:0"], environment: environment)
  }

  private static func findings(_ environment: [String: String]) throws -> [String] {
    try Roomy.findings(settings(environment)).filter { $0.severity == .error }.map { "\($0.key): \($0.message)" }
  }

  @Test("The defaults of a service hold all its rooms: two of the largest in the first, four in others, and others beside them")
  func defaults() throws {
    let configuration = RPCServerConfiguration(try Self.settings())
    #expect(configuration.largeRequestBytes == 192 << 20)
    #expect(configuration.http2.requestBytes == 2 * (192 + 80) << 20 + 1 << 20)
    #expect(configuration.http2.processRequestBytes == (192 + 80 + 32) << 20)
    #expect(try Self.findings([:]).isEmpty)
    let said = Dictionary(uniqueKeysWithValues: Roomy.keys.map { ($0.name, $0.defaultText) })
    #expect(said["limits.processRequestBytes"] == "\(304 << 20)", "config check says what is in force")
  }

  @Test(
    "Less than the large requests of a service need is an error that says how much they need",
    arguments: [
      ("LARGE_REQUEST_BYTES", "limits.largeRequestBytes: must be at least \(192 << 20): two of the largest requests"),
      (
        "REQUEST_BYTES",
        "limits.requestBytes: must be at least \(545 << 20): "
          + "twice what large requests may come to, all over one connection, and 1 MiB"
      ),
      (
        "PROCESS_REQUEST_BYTES",
        "limits.processRequestBytes: must be at least \(304 << 20): what large requests may come to, and 32 MiB for others"
      ),
    ])
  func less(_ variable: String, _ finding: String) throws {
    #expect(try Self.findings(["PARLEY_DEMO_LIMITS_\(variable)": "\(100 << 20)"]) == [finding])
  }

  @Test("Who gives large requests more room is told what else that takes, and may serve everything as a usual request instead")
  func more() throws {
    let more = try Self.findings(["PARLEY_DEMO_LIMITS_LARGE_REQUEST_BYTES": "\(256 << 20)"])
    #expect(more.map { $0.split(separator: ":")[0] } == ["limits.requestBytes", "limits.processRequestBytes"])
    let usual = ["PARLEY_DEMO_MAX_REQUEST_BYTES": "\(96 << 20)", "PARLEY_DEMO_LIMITS_REQUEST_BYTES": "\(112 << 20)"]
    #expect(try Self.findings(usual).isEmpty)
  }

  @Test("A service that takes larger requests than it declares does not start")
  func undeclared() async throws {
    let settings = try Settings(service: "demo", keys: Greedy.keys, flags: ["listen": "127.0.0.1:0"], environment: [:])
    let failure = await #expect(throws: ServiceFailure.self) {
      try await ServiceInstance.start(
        Greedy.self, settings: settings, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }
    #expect(failure?.status == .internal && failure?.message.contains("room 'words' without declaring it") == true)
  }
}
