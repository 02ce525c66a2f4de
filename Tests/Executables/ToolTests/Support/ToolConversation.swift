import EventLoop
import Glibc

/// One of the built programs with both ends of a conversation: lines in, lines out, each when the other side is ready for it.
// SAFETY: written before it is handed out; used by one task at a time.
final class ToolConversation: @unchecked Sendable {
  let process: pid_t
  private let input: Int32
  private let output: Int32
  private let errors: ScratchFile
  private let pool = BlockingPool(maximumThreads: 1)
  private var received: [UInt8] = []
  private var isInputOpen = true

  /// Starts `parley`.
  init(_ arguments: [String]) throws {
    let (into, out) = (try Self.pair(), try Self.pair())
    let errors = try ScratchFile([])
    process = try ToolProcess.spawn("parley", arguments) { actions in
      posix_spawn_file_actions_adddup2(&actions, into.theirs, 0)
      posix_spawn_file_actions_adddup2(&actions, out.theirs, 1)
      posix_spawn_file_actions_addopen(&actions, 2, errors.path, O_WRONLY | O_APPEND, 0)
    }
    self.errors = errors
    close(into.theirs)
    close(out.theirs)
    (input, output) = (into.ours, out.ours)
  }

  /// Two ends that no other program inherits, from the first moment on.
  static func pair() throws -> (ours: Int32, theirs: Int32) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw ToolFailure(description: "no pair of sockets") }
    return (ends[0], ends[1])
  }

  /// Sends text as it is.
  func write(_ text: String) throws {
    let bytes = Array(text.utf8)
    guard Glibc.write(input, bytes, bytes.count) == bytes.count else {
      throw ToolFailure(description: "the program reads no more")
    }
  }

  /// Ends the program's input.
  func endInput() {
    if isInputOpen { close(input) }
    isInputOpen = false
  }

  /// The next line of its output; nil at the end.
  func line() async throws -> String? {
    while true {
      if let end = received.firstIndex(of: UInt8(ascii: "\n")) {
        defer { received.removeFirst(end + 1) }
        return String(decoding: received[..<end], as: UTF8.self)
      }
      let output = output
      let chunk = try await pool.run {
        var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 20_000) > 0 else { throw ToolFailure(description: "no output within 20 s") }
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = read(output, &chunk, chunk.count)
        return Array(chunk.prefix(max(0, count)))
      }
      guard !chunk.isEmpty else { return nil }
      received += chunk
    }
  }

  /// Sends a signal.
  func signal(_ number: Int32) { kill(process, number) }

  /// Waits for the end, without touching the input: a program that has nothing to wait for must not wait for it.
  func ending() async throws -> (status: Int32, errors: String) {
    let process = process
    let status = try await pool.run { ToolProcess.wait(for: process) }
    endInput()
    close(output)
    pool.shutDown()
    return (status, ToolProcess.text(errors.path))
  }
}
