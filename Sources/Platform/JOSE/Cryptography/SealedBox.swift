/// Bytes that were encrypted and cannot be changed unnoticed (AES-256-GCM), with the name of the key that opens them.
///
/// The name and what the bytes are for are bound to them: a box that is moved to another place, or relabelled, does not open.
public struct SealedBox: Sendable, Hashable {
  static let version: UInt8 = 1
  static let nonceByteCount = 12
  static let tagByteCount = 16

  /// The key-encryption key that sealed it.
  public let keyID: String
  let nonce: [UInt8]
  /// The encrypted bytes, followed by their tag.
  let ciphertext: [UInt8]

  init(keyID: String, nonce: [UInt8], ciphertext: [UInt8]) {
    self.keyID = keyID
    self.nonce = nonce
    self.ciphertext = ciphertext
  }

  /// Reads what ``bytes`` wrote.
  ///
  /// - Throws: ``SealingError`` with ``SealingError/Code/boxInvalid``.
  public init(bytes: [UInt8]) throws(SealingError) {
    guard bytes.count > 2, bytes[0] == Self.version else { throw SealingError(code: .boxInvalid) }
    let end = 2 + Int(bytes[1])
    guard bytes.count >= end + Self.nonceByteCount + Self.tagByteCount else { throw SealingError(code: .boxInvalid) }
    let name = String(decoding: bytes[2..<end], as: UTF8.self)
    guard SealingKeys.isValidName(name) else { throw SealingError(code: .boxInvalid) }
    self.init(
      keyID: name, nonce: Array(bytes[end..<(end + Self.nonceByteCount)]),
      ciphertext: Array(bytes[(end + Self.nonceByteCount)...]))
  }

  /// The box to store: a version, the key's name with its length, the nonce, the encrypted bytes, the tag.
  public var bytes: [UInt8] { [Self.version, UInt8(keyID.utf8.count)] + Array(keyID.utf8) + nonce + ciphertext }
}

/// Why a box cannot be made or opened. Nothing of keys or contents is in it.
public struct SealingError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// A text that gives no key-encryption keys.
    public static let keysInvalid = Code(description: "sealing_keys_invalid")
    /// Bytes that are no box.
    public static let boxInvalid = Code(description: "box_invalid")
    /// The key that sealed the box is not among those given.
    public static let keyUnknown = Code(description: "sealing_key_unknown")
    /// The key is another one of that name, or the box was changed, or it is for something else.
    public static let notAuthentic = Code(description: "box_not_authentic")
    /// OpenSSL could not do it.
    public static let operationFailed = Code(description: "sealing_failed")
  }

  /// The kind of failure.
  public let code: Code
  /// More about it, safe to log.
  public let detail: String

  init(code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Kind and detail.
  public var description: String { detail.isEmpty ? code.description : "\(code): \(detail)" }
}
