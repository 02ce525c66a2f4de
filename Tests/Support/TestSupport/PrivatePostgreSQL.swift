internal import EventLoop
public import Glibc
internal import Logging
public import PostgreSQL
internal import Synchronization

// SAFETY: `process` is behind a lock; the rest is constant.
/// A PostgreSQL server of the tests' own: a fresh cluster in a directory of its own, on a port that the system chose, gone
/// when it is stopped or the process ends.
///
/// Local connections are trusted; those over TCP need a password (the superuser's is `postgres`).
public final class PrivatePostgreSQL: Sendable {
  /// The directory with data, socket and log.
  public let directory: String
  /// The port over TCP on 127.0.0.1, and in the socket's name.
  public let port: UInt16
  private let process = Mutex<pid_t?>(nil)

  /// The server that all tests of a process share: the one that the environment names, or one that is started at its first use.
  public static func shared() async throws -> DatabaseConfiguration {
    if let address = getenv("PARLEY_TEST_DATABASE_URL") { return try DatabaseConfiguration(String(cString: address)) }
    return try await sharedCluster.value.configuration()
  }

  private static let sharedCluster = Task.detached {
    let cluster = try await PrivatePostgreSQL.start()
    clustersToStop.withLock { $0.append(cluster) }
    atexit { clustersToStop.withLock { $0 }.forEach { $0.remove() } }
    return cluster
  }

  /// Creates a cluster and starts its server.
  public static func start() async throws -> PrivatePostgreSQL {
    try await offload {
      let cluster = try PrivatePostgreSQL()
      try cluster.startServer()
      return cluster
    }
  }

  private init() throws {
    var template = Array("/var/tmp/parley-pg-XXXXXX\0".utf8.map { CChar(bitPattern: $0) })
    guard mkdtemp(&template) != nil else { throw ProgramFailure(description: "mkdtemp: \(String(cString: strerror(errno)))") }
    directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    port = try Self.freePort()
    if getuid() == 0, let user = getpwnam("postgres") { chown(directory, user.pointee.pw_uid, user.pointee.pw_gid) }
    try writeFile("password", "postgres\n")
    let initialize = [
      "\(Self.programs)/initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions",
      "--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile=\(directory)/password",
    ]
    try ChildProcess.run(Self.asPostgres(initialize), output: log)
  }

  /// The superuser's way in, over the Unix socket.
  public func configuration() -> DatabaseConfiguration {
    var configuration = DatabaseConfiguration(host: directory, database: "postgres", user: "postgres")
    configuration.port = port
    return configuration
  }

  /// The server's log file.
  public var log: String { "\(directory)/log" }
  private var data: String { "\(directory)/data" }

  /// Starts the server again after ``stopServer(signal:)``. Blocks until it answers.
  public func startServer() throws {
    let settings = [
      "listen_addresses=127.0.0.1", "unix_socket_directories=\(directory)", "port=\(port)", "fsync=off", "synchronous_commit=off",
      "full_page_writes=off", "max_connections=200", "shared_buffers=32MB", "log_min_messages=warning",
    ]
    let command = ["\(Self.programs)/postgres", "-D", data] + settings.flatMap { ["-c", $0] }
    var started = try ChildProcess.start(Self.asPostgres(command), output: log)
    process.withLock { $0 = started }
    let isReady = ["\(Self.programs)/pg_isready", "-q", "-h", directory, "-p", "\(port)"]
    for _ in 0..<600 {
      if (try? ChildProcess.run(isReady, output: "/dev/null")) != nil { return }
      usleep(50_000)
      // After a stop its port may be that of somebody's connection for a moment, and then it ends at once.
      guard waitpid(started, nil, WNOHANG) == started else { continue }
      started = try ChildProcess.start(Self.asPostgres(command), output: log)
      process.withLock { [started] in $0 = started }
    }
    remove()
    throw ProgramFailure(description: "PostgreSQL did not start: see \(log)")
  }

  /// Sends the server a signal (SIGINT: fast shutdown, SIGQUIT: at once, SIGKILL) and waits for its end. Blocks.
  public func stopServer(signal: Int32 = SIGINT) {
    guard let running = process.withLock({ $0.take() }) else { return }
    kill(running, signal)
    ChildProcess.wait(running)
  }

  /// Stops the server, off the calling thread.
  public func stop(signal: Int32 = SIGINT) async throws { try await Self.offload { self.stopServer(signal: signal) } }

  /// Starts the server, off the calling thread.
  public func restart() async throws { try await Self.offload { try self.startServer() } }

  /// Lets the server be a standby from its next start on: it serves reads and follows nobody.
  public func demote() throws { try writeFile("data/standby.signal", "") }

  /// Stops the server and deletes its directory.
  public func remove() {
    stopServer(signal: SIGQUIT)
    _ = try? ChildProcess.run(["rm", "-rf", directory], output: "/dev/null")
  }

  /// Runs what blocks on a thread of its own: the threads of the tests are few.
  static func offload<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await offloading.run(body)
  }

  private static let offloading = BlockingPool(maximumThreads: 4)

  private static let programs: String = {
    for version in stride(from: 20, through: 15, by: -1) where access("/usr/lib/postgresql/\(version)/bin/initdb", X_OK) == 0 {
      return "/usr/lib/postgresql/\(version)/bin"
    }
    return "/usr/local/pgsql/bin"
  }()

  /// PostgreSQL refuses to run as root. The kernel ends the server should this process die without saying goodbye.
  private static func asPostgres(_ command: [String]) -> [String] {
    let mortal = ["env", "--chdir=/", "setpriv", "--pdeathsig", "INT"]
    return mortal + (getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--init-groups", "--"] : ["--"]) + command
  }

  private func writeFile(_ name: String, _ text: String) throws {
    let path = "\(directory)/\(name)"
    let descriptor = open(path, O_WRONLY | O_CREAT, 0o644)
    guard descriptor >= 0 else { throw ProgramFailure(description: "\(path): \(String(cString: strerror(errno)))") }
    _ = text.withCString { write(descriptor, $0, strlen($0)) }
    close(descriptor)
  }

  private static func freePort() throws -> UInt16 {
    let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(probe) }
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    guard let any = SocketAddress(ip: "127.0.0.1", port: 0) else { throw ProgramFailure(description: "no loopback") }
    let bound = any.withSockaddr { bind(probe, $0, $1) }
    let named = withUnsafeMutablePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(probe, $0, &length) }
    }
    let address = withUnsafePointer(to: &storage) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketAddress($0) }
    }
    guard bound == 0, named == 0, let port = address?.port else { throw ProgramFailure(description: "no free port") }
    return port
  }
}

/// What `atexit` must stop: its handler is a C function, which can hold no reference of its own.
private let clustersToStop = Mutex<[PrivatePostgreSQL]>([])
