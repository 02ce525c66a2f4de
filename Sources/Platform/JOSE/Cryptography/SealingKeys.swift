/// Key-encryption keys: the first seals, all of them open. So a new one is introduced as the last, then made the first, and the
/// old one goes once every box was sealed anew.
///
/// Neither description nor mirror shows a key.
public struct SealingKeys: Sendable, CustomStringConvertible, CustomReflectable {
  /// The length of a key, in bytes.
  public static let keyByteCount = 32

  private let first: String
  private let keys: [String: [UInt8]]
  private let names: [String]

  /// Reads keys from a text: `BASE64`, or several as `NAME:BASE64,NAME:BASE64`, each of 32 bytes. A key without a name is named
  /// by a digest of it.
  ///
  /// - Throws: ``SealingError`` with ``SealingError/Code/keysInvalid``; nothing of the text is in it.
  public init(parsing text: String) throws(SealingError) {
    func invalid(_ detail: String) -> SealingError { SealingError(code: .keysInvalid, detail: detail) }
    var keys: [String: [UInt8]] = [:]
    var names: [String] = []
    let entries = text.split { $0 == "," || $0.isWhitespace }
    for (index, entry) in entries.enumerated() {
      let parts = entry.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard let key = Base64.decode(String(parts[parts.count - 1])), key.count == Self.keyByteCount else {
        throw invalid("key \(index + 1) is not the base64 of \(Self.keyByteCount) bytes")
      }
      let name = parts.count == 2 ? String(parts[0]) : Self.name(of: key)
      guard Self.isValidName(name) else { throw invalid("the name of key \(index + 1) is not 1 to 32 of a-z, 0-9, - and _") }
      guard keys.updateValue(key, forKey: name) == nil else { throw invalid("two keys have the name of key \(index + 1)") }
      names.append(name)
    }
    guard let first = names.first else { throw invalid("there is none") }
    self.first = first
    self.keys = keys
    self.names = names
  }

  /// The name of the key that seals.
  public var sealingKeyID: String { first }

  /// Encrypts bytes under the first key.
  ///
  /// - Parameters:
  ///   - bytes: What is encrypted.
  ///   - purpose: What it is for, and whose: the same text opens it, and no other.
  /// - Throws: ``SealingError`` with ``SealingError/Code/operationFailed``.
  public func seal(_ bytes: [UInt8], for purpose: String) throws(SealingError) -> SealedBox {
    let nonce = SecureRandom.bytes(SealedBox.nonceByteCount)
    guard
      let ciphertext = AESGCM.seal(bytes, key: keys[first] ?? [], nonce: nonce, authenticating: Self.binding(first, purpose))
    else { throw SealingError(code: .operationFailed) }
    return SealedBox(keyID: first, nonce: nonce, ciphertext: ciphertext)
  }

  /// Decrypts a box.
  ///
  /// - Throws: ``SealingError``: ``SealingError/Code/keyUnknown`` or ``SealingError/Code/notAuthentic``.
  public func open(_ box: SealedBox, for purpose: String) throws(SealingError) -> [UInt8] {
    guard let key = keys[box.keyID] else { throw SealingError(code: .keyUnknown, detail: box.keyID) }
    let binding = Self.binding(box.keyID, purpose)
    guard let bytes = AESGCM.open(box.ciphertext, key: key, nonce: box.nonce, authenticating: binding) else {
      throw SealingError(code: .notAuthentic, detail: box.keyID)
    }
    return bytes
  }

  /// The names of the keys, the one that seals first.
  public var description: String { "sealing keys \(names.joined(separator: ", "))" }

  /// The names of the keys.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }

  static func isValidName(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count)
      && name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d || $0 == 0x5f }
  }

  private static func name(of key: [UInt8]) -> String {
    Hexadecimal.text(HMACSHA256.authenticationCode(for: Array("parley key-encryption key".utf8), key: key).prefix(4))
  }

  /// A name has no zero byte, so no two pairs are written the same.
  private static func binding(_ name: String, _ purpose: String) -> [UInt8] {
    Array("parley sealed box 1".utf8) + [0] + Array(name.utf8) + [0] + Array(purpose.utf8)
  }
}
