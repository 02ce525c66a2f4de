internal import Values

/// 128 bits that name something, written as a UUID.
public protocol Identifier: Sendable, Hashable, CustomStringConvertible {
  /// The 16 bytes, as two big-endian halves.
  init(high: UInt64, low: UInt64)
  /// The first 8 bytes.
  var high: UInt64 { get }
  /// The last 8 bytes.
  var low: UInt64 { get }
}

extension Identifier {
  /// The text of the UUID: 36 characters, in lower case.
  public var description: String { UUID(high: high, low: low).description }

  /// Reads what ``description`` writes; capital digits too. Nil for anything else.
  public init?(_ text: String) {
    guard let uuid = UUID(text) else { return nil }
    self.init(high: uuid.high, low: uuid.low)
  }
}

/// Names an account.
public struct UserID: Identifier {
  /// The first 8 bytes.
  public let high: UInt64
  /// The last 8 bytes.
  public let low: UInt64

  /// An identifier from its bytes.
  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// Names a session: one device that stays signed in.
public struct SessionID: Identifier {
  /// The first 8 bytes.
  public let high: UInt64
  /// The last 8 bytes.
  public let low: UInt64

  /// An identifier from its bytes.
  public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}
