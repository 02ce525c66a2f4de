internal import EventLoop
internal import HTTP2
internal import Outbound
internal import PostgreSQL

/// What a process tells its supervisor by its exit code (sysexits.h). A process that a second signal ends has 128 + its number.
public struct ExitStatus: RawRepresentable, Sendable, Hashable {
  /// The exit code.
  public let rawValue: Int32
  /// Wraps an exit code.
  public init(rawValue: Int32) { self.rawValue = rawValue }

  /// It did what it should, and drained.
  public static let clean = ExitStatus(rawValue: 0)
  /// The command line is wrong.
  public static let usage = ExitStatus(rawValue: 64)
  /// Something it needs is not there.
  public static let unavailable = ExitStatus(rawValue: 69)
  /// A defect.
  public static let `internal` = ExitStatus(rawValue: 70)
  /// It may work the next time: an address in use, no descriptors left.
  public static let temporary = ExitStatus(rawValue: 75)
  /// The settings are wrong.
  public static let configuration = ExitStatus(rawValue: 78)
}

/// Why a service did not start or did not go on, with the exit code that says so.
public struct ServiceFailure: Error, Sendable, CustomStringConvertible {
  /// The exit code.
  public let status: ExitStatus
  /// What happened, without secrets.
  public let message: String

  /// A failure.
  public init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  /// What it says.
  public var description: String { message }

  /// The failure that an error amounts to.
  init(_ error: any Error) {
    switch error {
    case let error as ServiceFailure: self = error
    case let error as ConfigurationError: self.init(.configuration, error.description)
    case let error as DatabaseError where error.code == .invalidConfiguration: self.init(.configuration, error.description)
    case let error as DatabaseError where error.category == .unavailable: self.init(.unavailable, error.description)
    case let error as OutboundError: self.init(.unavailable, error.description)
    case let error as EventLoopError where error.code == .systemCall: self.init(.temporary, error.description)
    case let error as EventLoopError: self.init(.configuration, error.description)
    case let error as TLSError: self.init(.configuration, "the server's certificate and key cannot be used: \(error.message)")
    default: self.init(.internal, "\(error)")
    }
  }
}
