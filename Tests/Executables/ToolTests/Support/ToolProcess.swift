import EventLoop
import Glibc
import TestSupport

/// What kept a test from being made.
struct ToolFailure: Error, CustomStringConvertible {
  let description: String
}

/// One of the built programs, run as a process of its own.
struct ToolProcess {
  /// How a program ended and what it printed.
  struct Ending: Sendable {
    let status: Int32
    let output: String
    let errors: String
  }

  let process: pid_t
  private let output: ScratchFile
  private let errors: ScratchFile

  /// Starts a program that was built beside this test, with nothing in its environment but what is given.
  init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
    output = try ScratchFile([])
    errors = try ScratchFile([])
    let (output, errors) = (output, errors)
    process = try Self.spawn(name, arguments, environment: environment) { actions in
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
      posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_APPEND, 0)
      posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_APPEND, 0)
    }
  }

  /// Starts a program whose descriptors `redirect` arranges.
  static func spawn(
    _ name: String, _ arguments: [String], environment: [String: String] = [:],
    _ redirect: (inout posix_spawn_file_actions_t) -> Void
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    redirect(&actions)
    let path = folder + "/" + name
    // Away from the checkout: a run that is up there must not be found. The shell becomes the program.
    let shell = ["/bin/sh", "-c", "cd / && exec \"$0\" \"$@\"", path]
    let values =
      ["PATH=/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no"]
      + environment.merging(ChildProcess.sanitizerVariables) { own, _ in own }.map { "\($0.key)=\($0.value)" }
    let copies = (shell + arguments).map { strdup($0) }
    let variables = values.map { strdup($0) }
    defer { for copy in copies + variables { free(copy) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, shell[0], &actions, nil, copies + [nil], variables + [nil])
    guard result == 0 else { throw ToolFailure(description: "\(path): \(String(cString: strerror(result)))") }
    return process
  }

  /// Blocks until a program has ended: its exit code, or 128 and the signal that ended it.
  static func wait(for process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }

  /// Waits for the end on a thread of its own, so that no task's thread is held.
  func ending() async throws -> Ending {
    let pool = BlockingPool(maximumThreads: 1)
    defer { pool.shutDown() }
    let (process, output, errors) = (process, output.path, errors.path)
    return try await pool.run {
      Ending(status: Self.wait(for: process), output: Self.text(output), errors: Self.text(errors))
    }
  }

  /// Runs `parley` to its end.
  static func parley(_ arguments: [String], environment: [String: String] = [:]) async throws -> Ending {
    try await ToolProcess("parley", arguments, environment: environment).ending()
  }

  /// Where the programs are: beside the test itself.
  private static let folder: String = {
    var buffer = [CChar](repeating: 0, count: 4096)
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }()

  static func text(_ path: String) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += chunk[..<count]
    }
  }
}
