import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

/// `demo-service` as a process of the test's own, ended by its id.
// SAFETY: used by one test.
final class DemoProcess: @unchecked Sendable {
  let id: pid_t
  let folder: String
  private var isWaitedFor = false
  var log: String { (try? TextFile.read("\(folder)/log")) ?? "" }

  static let pool = BlockingPool(maximumThreads: 4)

  /// Where the build puts executables: beside the one that runs the tests.
  static var program: String {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = readlink("/proc/self/exe", &bytes, bytes.count)
    let own = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
    let folder = own.contains(".build") ? String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)]) : ".build/debug"
    return "\(folder)/demo-service"
  }

  init(_ arguments: [String], environment: [String: String] = [:]) throws {
    folder = "/tmp/servicekit-demo-\(UInt64.random(in: .min ... .max))"
    mkdir(folder, 0o700)
    id = try Self.spawn([Self.program] + arguments, environment, output: "\(folder)/log")
  }

  deinit {
    if !isWaitedFor {
      kill(id, SIGKILL)
      var status: Int32 = 0
      waitpid(id, &status, 0)
    }
    for name in ["log", "ports"] { unlink("\(folder)/\(name)") }
    rmdir(folder)
    if !portFile.isEmpty { unlink(portFile) }
  }

  /// A service that is ready, on ports that the system chose.
  static func serving(_ flags: [String] = [], environment: [String: String] = [:]) async throws -> DemoProcess {
    let folder = "/tmp/servicekit-ports-\(UInt64.random(in: .min ... .max))"
    let process = try DemoProcess(
      ["serve", "--listen", "127.0.0.1:0", "--port-file", folder, "--loops=1"] + flags, environment: environment)
    process.portFile = folder
    _ = try await process.port("grpc")
    return process
  }

  private var portFile = ""

  /// The port of a listener, once the service is ready.
  func port(_ name: String) async throws -> String {
    try await wait("the port file") {
      guard let text = try? TextFile.read(self.portFile), let value = try? JSONParser.parse(text),
        case .string(let address)? = value[name]
      else { return nil }
      return String(address[address.index(after: address.lastIndex(of: ":")!)...])
    }
  }

  func signal(_ number: Int32) { kill(id, number) }

  /// The exit code, or 128 plus the signal that ended it.
  func exitCode() async throws -> Int32 {
    let id = id
    let status = try await Self.pool.run { Self.reap(id) }
    isWaitedFor = true
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }

  /// Asks again until there is an answer, for ten seconds.
  func wait<Value: Sendable>(_ what: String, _ body: @escaping @Sendable () -> Value?) async throws -> Value {
    let value = try await Self.pool.run { () -> Value? in
      let deadline = MonotonicInstant.now().advanced(by: .seconds(10).withPatience)
      while MonotonicInstant.now() < deadline {
        if let value = body() { return value }
        usleep(5_000)
      }
      return nil
    }
    return try #require(value, "no \(what): \(log)")
  }

  /// Runs a program to its end and returns its exit code with what it printed.
  static func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> (code: Int32, output: String) {
    let output = "/tmp/servicekit-output-\(UInt64.random(in: .min ... .max))"
    defer { unlink(output) }
    let id = try spawn(arguments, environment, output: output)
    let status = try await pool.run { reap(id) }
    return (status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f), (try? TextFile.read(output)) ?? "")
  }

  /// What curl prints for a request over clear-text HTTP/2: headers and body.
  static func curl(_ port: String, _ path: String, _ more: [String] = []) async throws -> String {
    try await run(
      ["curl", "-s", "-i", "--max-time", "10", "--http2-prior-knowledge"] + more + ["http://127.0.0.1:\(port)\(path)"]
    ).output
  }

  /// Waits for a process, and kills one that has not ended after half a minute, so that no test hangs. Blocks.
  private static func reap(_ id: pid_t) -> Int32 {
    let deadline = MonotonicInstant.now().advanced(by: .seconds(30).withPatience)
    var status: Int32 = 0
    while waitpid(id, &status, WNOHANG) == 0 {
      if MonotonicInstant.now() > deadline { kill(id, SIGKILL) }
      usleep(5_000)
    }
    return status
  }

  private static func spawn(_ arguments: [String], _ environment: [String: String], output: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    let variables = environment.merging(["PATH": "/usr/local/bin:/usr/bin:/bin"]) { first, _ in first }
      .merging(ChildProcess.sanitizerVariables) { first, _ in first }
    var copies = arguments.map { strdup($0) } + [nil]
    var pairs = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for copy in copies + pairs { free(copy) } }
    var id: pid_t = 0
    let result = posix_spawnp(&id, arguments[0], &actions, nil, &copies, &pairs)
    try #require(result == 0, "\(arguments[0]): \(String(cString: strerror(result)))")
    return id
  }
}
