internal import Outbound

/// How long a key set may be used before it is fetched again, by what its server says (RFC 9111).
enum KeyLifetime {
  /// No shorter, or a server's mistake would become a fetch for every token.
  static let floor = Duration.seconds(60)
  /// No longer, or a withdrawn key would live on.
  static let cap = Duration.seconds(24 * 3600)
  /// What holds when the server says nothing.
  static let unsaid = Duration.seconds(300)

  /// `max-age` minus `Age`, within ``floor`` and ``cap``.
  static func of(_ headers: HTTPHeaders) -> Duration {
    var lifetime = unsaid
    for field in headers.all("cache-control") {
      for directive in field.split(separator: ",") {
        let parts = directive.trimmed.split(separator: "=", maxSplits: 1)
        switch parts.first?.lowercased() {
        case "max-age":
          if parts.count == 2, let seconds = seconds(parts[1]) { lifetime = .seconds(seconds) }
        case "no-store", "no-cache": return floor
        default: continue
        }
      }
    }
    let age = headers["age"].flatMap { seconds($0) } ?? 0
    return min(max(lifetime - .seconds(age), floor), cap)
  }

  /// A number too large to count is the largest; what is no number is nil.
  private static func seconds(_ text: some StringProtocol) -> Int64? {
    let digits = text.trimmed.drop { $0 == "\"" }.prefix { $0 != "\"" }
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return min(Int64(digits) ?? .max, 1 << 40)
  }
}
