internal import Glibc

/// What the event loop floor throws: a system call that failed, or an address that cannot be used.
public struct EventLoopError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable {
    let name: String
    /// A system call failed; ``EventLoopError/errno`` says how.
    public static let systemCall = Code(name: "system_call")
    /// The text is no address that this floor understands.
    public static let invalidAddress = Code(name: "invalid_address")
    /// No address is known for the host name.
    public static let unresolvableName = Code(name: "unresolvable_name")
    /// The loop has been stopped.
    public static let stopped = Code(name: "stopped")
  }

  /// The kind of failure.
  public let code: Code
  /// What was being done, safe to show to an operator.
  public let message: String
  /// The C library's error number, or 0.
  public let errno: Int32

  /// An error of the given kind.
  public init(_ code: Code, _ message: String, errno: Int32 = 0) {
    self.code = code
    self.message = message
    self.errno = errno
  }

  /// A failed system call, with the present `errno`.
  static func systemCall(_ name: String) -> EventLoopError {
    let number = Glibc.errno
    return .init(.systemCall, "\(name): \(String(cString: strerror(number)))", errno: number)
  }

  /// The message.
  public var description: String { message }
}
