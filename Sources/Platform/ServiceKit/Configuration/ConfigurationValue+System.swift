public import EventLoop
internal import Glibc
public import Logging

/// `250ms`, `30s`, `5m`, `2h`, or a bare number of seconds.
extension Duration: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a duration such as 250ms, 30s, 5m or 2h (a bare number is seconds)" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    let digits = configurationText.utf8.prefix { (0x30...0x39).contains($0) }.count
    guard digits > 0, let number = Int64(configurationText.prefix(digits)) else { return nil }
    let milliseconds: Int64
    switch configurationText.dropFirst(digits) {
    case "ms": milliseconds = 1
    case "s", "": milliseconds = 1_000
    case "m": milliseconds = 60_000
    case "h": milliseconds = 3_600_000
    default: return nil
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: milliseconds)
    guard !overflow else { return nil }
    self = .milliseconds(product)
  }

  /// The value as it would be written.
  public var configurationText: String {
    let (seconds, attoseconds) = components
    let milliseconds = attoseconds / 1_000_000_000_000_000
    if milliseconds != 0 { return "\(seconds * 1_000 + milliseconds)ms" }
    if seconds != 0 && seconds % 3_600 == 0 { return "\(seconds / 3_600)h" }
    if seconds != 0 && seconds % 60 == 0 { return "\(seconds / 60)m" }
    return "\(seconds)s"
  }
}

extension SocketAddress: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "an address such as 127.0.0.1:8080, [::1]:8080 or unix:/run/parley.sock" }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { try? self.init(configurationText) }
  /// The value as it would be written.
  public var configurationText: String { description }
}

extension Logger.Level: ConfigurationValue {}

/// The path of a file that exists and that this process may read.
public struct ReadableFile: ConfigurationValue, Hashable {
  /// The path as it was given.
  public let path: String

  /// What a text must be to be read.
  public static var expectation: String { "the path of a file that can be read" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard access(configurationText, R_OK) == 0 else { return nil }
    path = configurationText
  }

  /// The value as it would be written.
  public var configurationText: String { path }
}

/// The path of a file, which need not exist.
public struct FilePath: ConfigurationValue, Hashable {
  /// The path as it was given.
  public let path: String

  /// What a text must be to be read.
  public static var expectation: String { "a path" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard !configurationText.isEmpty, !configurationText.utf8.contains(0) else { return nil }
    path = configurationText
  }

  /// The value as it would be written.
  public var configurationText: String { path }
}
