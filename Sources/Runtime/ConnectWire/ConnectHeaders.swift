/// The header fields of the Connect protocol.
package enum ConnectHeaders {
  /// The version of the protocol that a request follows; ``version`` is the only one.
  package static let protocolVersion = "connect-protocol-version"
  /// The one version.
  package static let version = "1"
  /// How many milliseconds the caller waits.
  package static let timeout = "connect-timeout-ms"
  /// What the names of trailing metadata begin with where it is sent as headers, in unary responses.
  package static let trailerPrefix = "trailer-"

  /// Reads ``timeout``.
  ///
  /// - Returns: nil when it is malformed: no digits, more than ten, or anything else.
  package static func decodeTimeout(_ text: String) -> Duration? {
    let digits = text.utf8
    guard !digits.isEmpty, digits.count <= 10, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
    return Int64(text).map { .milliseconds($0) }
  }

  /// Writes ``timeout``: rounded up, so that the server never gives up first, and at most ten digits.
  package static func encodeTimeout(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    guard seconds >= 0, attoseconds >= 0 else { return "0" }
    guard seconds < 10_000_000 else { return "9999999999" }
    let perMillisecond: Int64 = 1_000_000_000_000_000
    let milliseconds = seconds * 1_000 + attoseconds / perMillisecond + (attoseconds % perMillisecond == 0 ? 0 : 1)
    return "\(min(milliseconds, 9_999_999_999))"
  }
}
