internal import Glibc
internal import RPC

/// The permissions of a file, in octal as in chmod(1).
public struct FileMode: ConfigurationValue, Hashable {
  /// The permissions.
  public let bits: UInt32

  /// What a text must be to be read.
  public static var expectation: String { "a file mode in octal such as 0660" }

  /// Permissions from their bits.
  public init(_ bits: UInt32) { self.bits = bits }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    guard (3...4).contains(configurationText.utf8.count), let bits = UInt32(configurationText, radix: 8), bits <= 0o777 else {
      return nil
    }
    self.bits = bits
  }

  /// The value as it would be written.
  public var configurationText: String {
    let text = String(bits, radix: 8)
    return String(repeating: "0", count: max(0, 4 - text.count)) + text
  }
}

/// A group of this system.
public struct SystemGroup: ConfigurationValue, Hashable {
  /// As it was given: a name or a number.
  public let configurationText: String
  /// The group's number.
  public let number: UInt32

  /// What a text must be to be read.
  public static var expectation: String { "the name of a group of this system, or a group's number" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    if let number = UInt32(configurationText), number < .max {
      self.number = number
    } else {
      var entry = group()
      var found: UnsafeMutablePointer<group>?
      var room = [CChar](repeating: 0, count: 16 << 10)
      guard getgrnam_r(configurationText, &entry, &room, room.count, &found) == 0, let found else { return nil }
      number = found.pointee.gr_gid
    }
    self.configurationText = configurationText
  }
}

/// A name that a client's certificate may have.
public struct ClientIdentity: ConfigurationValue, Hashable {
  /// The name: a SPIFFE identity, or a DNS name in lower case.
  public let configurationText: String

  /// What a text must be to be read.
  public static var expectation: String { "a SPIFFE identity such as spiffe://parley/billing, or a DNS name" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    if configurationText.contains("/") {
      guard PeerIdentity.isSPIFFE(configurationText) else { return nil }
      self.configurationText = configurationText
    } else {
      let isName = configurationText.utf8.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
          true
        default: false
        }
      }
      guard isName, (1...253).contains(configurationText.utf8.count) else { return nil }
      self.configurationText = configurationText.lowercased()
    }
  }
}

extension UInt64: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "a whole number" }
  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) { self.init(configurationText) }
  /// The value as it would be written.
  public var configurationText: String { "\(self)" }
}
