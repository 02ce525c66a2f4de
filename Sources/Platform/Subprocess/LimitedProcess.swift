public import EventLoop

/// A program that reads what strangers send, and is therefore held tight: limits of time, CPU, memory, files and descriptors, no
/// environment, no network, no shell, no other process, no file to write, and nothing open but its input and its output.
///
/// It runs in a session of its own, which is killed as a whole at the end, however it ends; and it does not outlive this process. Its
/// input is memory that it can seek in, as its standard input. What it says on standard error is dropped.
public struct LimitedProcess: Sendable {
  /// How it ended by itself.
  public enum Ending: Sendable, Hashable {
    /// With this status.
    case exited(Int32)
    /// By this signal: SIGXCPU when its CPU time was up, whatever it made of that.
    case signalled(Int32)
  }

  /// Where the program is: an absolute path.
  public var program: String
  /// What it is told, without its own name.
  public var arguments: [String]
  /// What it may use.
  public var limits: ProcessLimits

  /// A program with what it is told.
  ///
  /// - Parameters:
  ///   - program: Where it is: an absolute path.
  ///   - arguments: What it is told, without its own name.
  ///   - limits: What it may use.
  public init(_ program: String, _ arguments: [String], limits: ProcessLimits = ProcessLimits()) {
    self.program = program
    self.arguments = arguments
    self.limits = limits
  }

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - input: What it finds on its standard input; other programs may have it too.
  ///   - pool: Where the calling is done that blocks; its threads are as many as such programs run at once.
  ///   - result: What `read` begins with.
  ///   - read: Takes the output, piece by piece, on a thread of the pool; false ends the program.
  /// - Returns: How it ended, and what `read` made of its output.
  /// - Throws: ``SubprocessError`` when it could not begin, or was ended by us.
  public func run<Result: Sendable>(
    input: ProcessInput, on pool: BlockingPool, into result: Result,
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(SubprocessError) -> (ending: Ending, result: Result) {
    let cancellation = Cancellation()
    do {
      return try await withTaskCancellationHandler {
        try await pool.run { [self] in
          try ProcessRun(self, cancellation).run(input: input, into: result, read)
        }
      } onCancel: {
        cancellation.cancel()
      }
    } catch let error as SubprocessError { throw error } catch {
      throw SubprocessError(.startFailed, "\(program): \(error)")
    }
  }
}
