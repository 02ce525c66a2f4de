internal import COpenSSL

/// SHA-256 of bytes that come one after the other.
///
/// One owner at a time: it is no value and takes no lock.
public final class RunningSHA256 {
  private let context: OpaquePointer

  /// The hash of nothing so far.
  public init() {
    // It fails only if OpenSSL was built without SHA-256 or memory is gone; a wrong digest must never pass for one.
    guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      preconditionFailure("OpenSSL offers no SHA-256")
    }
    self.context = context
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Goes on with these bytes.
  public func update(_ bytes: [UInt8]) {
    precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "OpenSSL refuses to hash")
  }

  /// The digest of all bytes, 32 bytes. Asking for it ends the hash: the next bytes begin a new one.
  public func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { output, count in
      precondition(EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1, "OpenSSL refuses to hash")
      precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "OpenSSL offers no SHA-256")
      count = SHA256.byteCount
    }
  }
}
