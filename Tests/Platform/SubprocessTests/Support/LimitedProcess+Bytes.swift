import EventLoop
import Subprocess

extension LimitedProcess {
  /// Runs it to its end with these bytes as its input.
  func run<Result: Sendable>(
    input: [UInt8], on pool: BlockingPool, into result: Result,
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(SubprocessError) -> (ending: Ending, result: Result) {
    var writer = ProcessInputWriter()
    writer.append(input)
    return try await run(input: try writer.sealed(), on: pool, into: result, read)
  }
}
