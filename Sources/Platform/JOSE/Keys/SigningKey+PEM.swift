internal import COpenSSL

extension SigningKey {
  /// Reads an unencrypted private key: PKCS#8 or PKCS#1 for RSA, PKCS#8 or SEC 1 for P-256, as in the `private_key` of a
  /// Google service account.
  ///
  /// - Parameters:
  ///   - pem: The text, with its `-----BEGIN` and `-----END` lines.
  ///   - keyID: The name for the header's `kid`; nil names the key by its thumbprint (RFC 7638).
  /// - Throws: ``KeyError`` with what is wrong; nothing of the text is in it.
  public init(pem: String, keyID: String? = nil) throws(KeyError) {
    defer { ERR_clear_error() }
    let bytes = Array(pem.utf8)
    let pointer = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
      guard let input = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count)) else { return nil }
      defer { BIO_free(input) }
      // Without a callback OpenSSL would ask the terminal for the passphrase of an encrypted key.
      return PEM_read_bio_PrivateKey(input, nil, { _, _, _, _ in -1 }, nil)
    }
    guard let pointer else { throw KeyError(code: .pemInvalid) }
    try self.init(key: EVPKey(taking: pointer), keyID: keyID)
  }

  /// Makes a new key: RSA of 2,048 bits (about 100 ms) or P-256.
  ///
  /// - Parameters:
  ///   - algorithm: The kind of key to make.
  ///   - keyID: The name for the header's `kid`; nil names the key by its thumbprint (RFC 7638).
  /// - Throws: ``KeyError`` if the name is invalid or OpenSSL fails.
  public static func generate(_ algorithm: SignatureAlgorithm, keyID: String? = nil) throws(KeyError) -> SigningKey {
    defer { ERR_clear_error() }
    let name = algorithm == .rs256 ? "RSA" : "EC"
    guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else { throw KeyError(code: .operationFailed) }
    defer { EVP_PKEY_CTX_free(context) }
    guard EVP_PKEY_keygen_init(context) == 1 else { throw KeyError(code: .operationFailed) }
    let isConfigured =
      switch algorithm {
      case .rs256: EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
      case .es256: EVP_PKEY_CTX_set_group_name(context, "prime256v1")
      }
    var pointer: OpaquePointer?
    guard isConfigured == 1, EVP_PKEY_generate(context, &pointer) == 1, let pointer else {
      throw KeyError(code: .operationFailed)
    }
    return try SigningKey(key: EVPKey(taking: pointer), keyID: keyID)
  }

  /// The private key as unencrypted PKCS#8 in PEM. Whoever reads it can sign: seal it before it is stored.
  ///
  /// - Throws: ``KeyError`` with ``KeyError/Code/operationFailed``.
  public func privatePEM() throws(KeyError) -> String {
    defer { ERR_clear_error() }
    guard let output = BIO_new(BIO_s_secmem()) else { throw KeyError(code: .operationFailed) }
    defer { BIO_free(output) }
    guard PEM_write_bio_PKCS8PrivateKey(output, key.pointer, nil, nil, 0, nil, nil) == 1 else {
      throw KeyError(code: .operationFailed)
    }
    var pem = [UInt8](repeating: 0, count: 16 << 10)
    let length = BIO_read(output, &pem, Int32(pem.count))
    guard length > 0, length < pem.count else { throw KeyError(code: .operationFailed) }
    return String(decoding: pem[..<Int(length)], as: UTF8.self)
  }
}
