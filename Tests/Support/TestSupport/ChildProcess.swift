public import Glibc

/// What a program answered.
public struct ProgramFailure: Error, CustomStringConvertible {
  /// The program and what was wrong with it.
  public let description: String
}

/// Programs that tests start; each is waited for, or ended by the id it was started with.
public enum ChildProcess {
  /// What the sanitizers are told through the environment, for programs that are started with one of their own; empty on a plain
  /// build.
  public static let sanitizerVariables: [String: String] = {
    var variables: [String: String] = [:]
    for name in ["ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "TSAN_OPTIONS", "TSAN_SYMBOLIZER_PATH"] {
      if let value = getenv(name) { variables[name] = String(cString: value) }
    }
    return variables
  }()

  /// Starts a program (found in PATH), its output going to the file `output`, and returns its process id.
  public static func start(_ arguments: [String], output: String) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    let copies = arguments.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    var process: pid_t = 0
    let result = posix_spawnp(&process, arguments[0], &actions, nil, copies + [nil], environ)
    guard result == 0 else { throw ProgramFailure(description: "\(arguments[0]): \(String(cString: strerror(result)))") }
    return process
  }

  /// Runs a program to its end. Blocks.
  public static func run(_ arguments: [String], output: String) throws {
    let status = wait(try start(arguments, output: output))
    guard status == 0 else {
      throw ProgramFailure(description: "\(arguments.joined(separator: " ")) ended with status \(status): see \(output)")
    }
  }

  /// Waits for a process and returns its exit status, or 128 plus the signal. Blocks.
  @discardableResult
  public static func wait(_ process: pid_t) -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
  }
}
