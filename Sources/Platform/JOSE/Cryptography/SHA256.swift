internal import COpenSSL

/// SHA-256.
public enum SHA256 {
  /// The length of a digest, in bytes.
  public static let byteCount = 32

  /// The digest, 32 bytes.
  public static func digest(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
      // It fails only if OpenSSL was built without SHA-256 or memory is gone; a wrong digest must never pass for one.
      let result = EVP_Digest(bytes, bytes.count, output.baseAddress, nil, EVP_sha256(), nil)
      precondition(result == 1, "OpenSSL offers no SHA-256")
      count = byteCount
    }
  }

  /// The digest of the text's UTF-8 bytes, 32 bytes.
  public static func digest(_ text: String) -> [UInt8] { digest(Array(text.utf8)) }

  /// The digest of what comes piece by piece.
  public struct Running: ~Copyable {
    private let context: OpaquePointer

    /// Of nothing so far.
    public init() {
      guard let context = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
      self.context = context
      precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "OpenSSL offers no SHA-256")
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Takes the next piece.
    public mutating func add(_ bytes: [UInt8]) {
      precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "OpenSSL cannot go on with a digest")
    }

    /// The digest of all pieces so far, 32 bytes; more may follow.
    public func digest() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { output, count in
        guard let copy = EVP_MD_CTX_new() else { preconditionFailure("no memory for a digest") }
        defer { EVP_MD_CTX_free(copy) }
        precondition(
          EVP_MD_CTX_copy_ex(copy, context) == 1 && EVP_DigestFinal_ex(copy, output.baseAddress, nil) == 1,
          "OpenSSL cannot end a digest")
        count = SHA256.byteCount
      }
    }
  }
}

/// HMAC with SHA-256 (RFC 2104): a keyed digest, for salted hashes and for shared secrets.
public enum HMACSHA256 {
  /// The authentication code, 32 bytes.
  public static func authenticationCode(for bytes: [UInt8], key: [UInt8]) -> [UInt8] {
    // A null key means "none given" to OpenSSL; an empty one is legal and equals a key of one zero byte (zero padding).
    let key = key.isEmpty ? [0] : key
    return [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { output, count in
      let result = EVP_Q_mac(
        nil, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, output.baseAddress, SHA256.byteCount, nil)
      precondition(result != nil, "OpenSSL offers no HMAC with SHA-256")
      count = SHA256.byteCount
    }
  }

  /// Whether the code is the right one, compared in constant time.
  public static func isValid(_ code: [UInt8], for bytes: [UInt8], key: [UInt8]) -> Bool {
    ConstantTime.areEqual(code, authenticationCode(for: bytes, key: key))
  }
}
