import EventLoop
import Glibc
import JSON
import RPCClient
import TestParley
import TestSupport

/// A service as a process of its own, and a channel to it.
struct MeasuredProcess: Sendable {
  let id: pid_t
  let channel: ClientChannel

  /// Runs it for the length of `body`.
  ///
  /// - Parameters:
  ///   - binary: What is run, in release.
  ///   - prefix: Of its settings: `PARLEY_AUTH_`.
  ///   - settings: Its settings, without the prefix.
  ///   - loops: The loops of the channel.
  static func with<Value>(
    _ binary: String, _ prefix: String, _ settings: [String: String], on loops: EventLoopGroup,
    _ body: (MeasuredProcess) async throws -> Value
  ) async throws -> Value {
    let scratch = try ScratchFolder()
    let file = scratch.path + "/port"
    let given = settings.merging(["PORT_FILE": file, "LOG_LEVEL": "info"]) { $1 }
    let process = try ChildProcess.start(
      ["env"] + given.map { "\(prefix)\($0.key)=\($0.value)" } + [binary, "serve"], output: scratch.path + "/log")
    let result = await Result.of {
      let address = try await address(in: file)
      let channel = ClientChannel(to: .host("127.0.0.1", port: address.port ?? 0), on: loops)
      let result = await Result.of { try await body(MeasuredProcess(id: process, channel: channel)) }
      await channel.close()
      return try result.get()
    }
    kill(process, SIGTERM)
    ChildProcess.wait(process)
    if case .failure = result { try? ChildProcess.run(["tail", "-n", "20", scratch.path + "/log"], output: "/dev/stderr") }
    return try result.get()
  }

  private static func address(in file: String) async throws -> SocketAddress {
    for _ in 0..<600 {
      if let text = try? text(of: file), let address = (try? JSONParser.parse(text))?["grpc"]?.string {
        return try SocketAddress(address)
      }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw TimedOut("a service that listens")
  }

  private static func text(of file: String) throws -> String {
    let descriptor = open(file, O_RDONLY)
    guard descriptor >= 0 else { throw TimedOut("\(file), which can be read") }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
