import Foundation

/// Bytes as apps send them.
enum Base64Text {
  static func encode(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
}
