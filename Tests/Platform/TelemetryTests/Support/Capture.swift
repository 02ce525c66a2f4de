import EventLoop
import Glibc
import JSON
import Synchronization
import Telemetry

/// A pipe in the place of standard error.
final class Capture: Sendable {
  let sink: LogSink
  private let reader: Int32
  private let writer: Int32

  init() {
    var ends: [Int32] = [0, 0]
    precondition(pipe(&ends) == 0)
    (reader, writer) = (ends[0], ends[1])
    // Room for all that a test writes, since nobody reads meanwhile.
    _ = fcntl(writer, 1031, 1 << 20)
    _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    sink = LogSink(descriptor: writer)
  }

  deinit {
    close(reader)
    close(writer)
  }

  /// What has been written since the last call.
  func bytes() -> [UInt8] {
    var all: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(reader, &buffer, buffer.count)
      guard count > 0 else { return all }
      all.append(contentsOf: buffer[..<count])
    }
  }

  /// The lines, each of which must be one JSON object.
  func lines() throws -> [JSONObject] {
    try bytes().split(separator: 0x0a).map { line in
      guard case .object(let object) = try JSONParser.parse(Array(line)) else { throw NotAnObject() }
      return object
    }
  }

  struct NotAnObject: Error {}
}

/// Runs on a loop of a group that ends with it.
func onLoop(_ body: @escaping @Sendable (EventLoopGroup) async throws -> Void) async throws {
  let group = try EventLoopGroup(count: 1, name: "telemetry")
  defer { group.shutDown() }
  let result = await Task(executorPreference: group.loops[0]) { () async -> Result<Void, any Error> in
    do { return .success(try await body(group)) } catch { return .failure(error) }
  }.value
  try result.get()
}
