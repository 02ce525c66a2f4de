internal import EventLoop
internal import Glibc
public import JSON
public import Outbound
internal import TestSupport

/// The built `parley-sandbox` as a process of its own, and a client that trusts it.
public final class SandboxProcess: Sendable {
  /// What kept a sandbox from serving.
  public struct Failure: Error, CustomStringConvertible {
    /// What happened.
    public let description: String
  }

  /// Where it is: `https://localhost:PORT`.
  public let url: String
  /// The certificate authority to trust, PEM.
  public let caFile: String
  /// A way out that trusts it, on a loop of its own. It keeps no circuits.
  public let http: HTTPClient

  private init(url: String, caFile: String, http: HTTPClient) {
    self.url = url
    self.caFile = caFile
    self.http = http
  }

  /// OpenAI's side, with the version.
  public var openAI: String { url + "/openai/v1" }
  /// ElevenLabs' side, without the version.
  public var elevenLabs: String { url + "/elevenlabs" }

  /// Runs `body` beside a fresh sandbox, then ends it and leaves nothing behind. Several that one service trusts need different names.
  public static func run<Value: Sendable>(
    _ options: [String] = [], named name: String = "Parley test sandbox",
    _ body: @escaping @Sendable (SandboxProcess) async throws -> Value
  ) async throws -> Value {
    let folder = try TestFolder()
    // A name of its own: a service may have to trust another authority too, and roots of one name are mixed up.
    let authority = TestAuthority(commonName: name)
    let leaf = authority.server()
    try folder.write("ca.pem", authority.certificate)
    try folder.write("chain.pem", leaf.certificateChain)
    try folder.write("key.pem", leaf.privateKey)
    let process = try ChildProcess.start(
      [
        Self.binaries + "/parley-sandbox", "serve", "--certificate", folder.path("chain.pem"), "--key", folder.path("key.pem"),
        "--port-file", folder.path("ports"),
      ] + options, output: folder.path("log"))
    let group = try EventLoopGroup(count: 1, name: "sandbox-client")
    let outcome: Result<Value, any Error>
    do {
      let port = try await port(in: folder, within: .seconds(300))
      var configuration = HTTPClientConfiguration()
      configuration.caFile = folder.path("ca.pem")
      configuration.circuit = nil
      let http = try HTTPClient(loops: group.loops, configuration: configuration)
      let sandbox = SandboxProcess(url: "https://localhost:\(port)", caFile: folder.path("ca.pem"), http: http)
      do { outcome = .success(try await body(sandbox)) } catch { outcome = .failure(error) }
      await http.shutDown()
    } catch { outcome = .failure(error) }
    kill(process, SIGTERM)
    // Waiting and joining block, and the tests' own threads are few.
    let pool = BlockingPool(maximumThreads: 1)
    try await pool.run {
      group.shutDown()
      ChildProcess.wait(process)
    }
    pool.shutDown()
    return try outcome.get()
  }

  // MARK: Steering

  /// Asks one of the paths under `/sandbox/`.
  @discardableResult
  public func control(_ method: HTTPMethod, _ path: String, _ body: JSONObject? = nil) async throws -> JSONValue {
    let request = HTTPRequest(
      method, url + "/sandbox/" + path, headers: ["Content-Type": "application/json"],
      body: body.map { JSONValue.object($0).encoded() })
    let response = try await http.send(request)
    guard response.status == 200 else { throw Failure(description: "\(path): \(response.status) \(response.text ?? "")") }
    return try JSONParser.parse(response.body)
  }

  /// Makes a route fail, as `POST /sandbox/faults` has it.
  public func fail(_ path: String, _ how: JSONObject) async throws {
    var fault = how
    fault["path"] = .string(path)
    try await control(.post, "faults", fault)
  }

  /// What was paid for of one kind: `transcriptions`, `chats` or `voices`.
  public func effects(_ kind: String) async throws -> JSONValue {
    try await control(.get, "effects")[kind] ?? .null
  }

  /// How many requests for a path were answered or dropped.
  public func requests(_ path: String) async throws -> Int {
    Int(try await control(.get, "counters")["paths"]?[path]?["requests"]?.int64 ?? 0)
  }

  /// Waits until so many requests are held.
  public func awaitHeld(_ count: Int, within limit: Duration = .seconds(60)) async throws {
    let end = MonotonicInstant.now().advanced(by: limit.withPatience)
    while MonotonicInstant.now() < end {
      if try await control(.get, "hold")["waiting"]?.array?.count == count { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Failure(description: "\(count) requests are not held")
  }

  // MARK: Starting

  private static func port(in folder: TestFolder, within limit: Duration) async throws -> String {
    let end = MonotonicInstant.now().advanced(by: limit.withPatience)
    while MonotonicInstant.now() < end {
      if let line = folder.text("ports").split(separator: "\n").first(where: { $0.hasPrefix("tls=") }) {
        return String(line.dropFirst(4))
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw Failure(description: "the sandbox does not listen: \(folder.text("log"))")
  }

  /// Where the programs are: beside the test itself.
  private static let binaries: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }()
}
