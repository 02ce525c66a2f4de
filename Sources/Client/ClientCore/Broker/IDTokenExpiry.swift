import Foundation
import JSON

/// When a JWT runs out, as it says itself. Nothing is verified: that is the broker's part.
enum IDTokenExpiry {
  /// The time in the claim `exp`; nil for what is no JWT or has none.
  static func read(_ token: String) -> Date? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    guard let claims = Data(base64Encoded: text), let json = try? JSONParser.parse([UInt8](claims)) else { return nil }
    return json["exp"]?.number?.double.map { Date(timeIntervalSince1970: $0) }
  }
}
