internal import COpenSSL

/// AES-256 in Galois/Counter mode (NIST SP 800-38D) with a tag of 16 bytes behind the ciphertext.
enum AESGCM {
  /// Nil if OpenSSL fails.
  static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let context = context(key, nonce, encrypts: 1) else { return nil }
    defer { EVP_CIPHER_CTX_free(context) }
    var tag = [UInt8](repeating: 0, count: SealedBox.tagByteCount)
    guard authenticate(data, context), let ciphertext = update(plaintext, context), finish(context),
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1
    else { return nil }
    return ciphertext + tag
  }

  /// Nil if anything of it is not as it was sealed.
  static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard sealed.count >= SealedBox.tagByteCount, let context = context(key, nonce, encrypts: 0) else { return nil }
    defer { EVP_CIPHER_CTX_free(context) }
    var tag = Array(sealed.suffix(SealedBox.tagByteCount))
    guard authenticate(data, context), let plaintext = update(Array(sealed.dropLast(tag.count)), context),
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1,
      // Only this compares the tag: until it has, the plaintext is nobody's.
      finish(context)
    else { return nil }
    return plaintext
  }

  private static func context(_ key: [UInt8], _ nonce: [UInt8], encrypts: Int32) -> OpaquePointer? {
    guard key.count == 32, nonce.count == SealedBox.nonceByteCount, let context = EVP_CIPHER_CTX_new() else { return nil }
    guard EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, encrypts) == 1 else {
      EVP_CIPHER_CTX_free(context)
      return nil
    }
    return context
  }

  private static func authenticate(_ data: [UInt8], _ context: OpaquePointer) -> Bool {
    var count: Int32 = 0
    return EVP_CipherUpdate(context, nil, &count, data, Int32(data.count)) == 1
  }

  private static func update(_ input: [UInt8], _ context: OpaquePointer) -> [UInt8]? {
    guard !input.isEmpty else { return [] }
    var output = [UInt8](repeating: 0, count: input.count)
    var count: Int32 = 0
    guard EVP_CipherUpdate(context, &output, &count, input, Int32(input.count)) == 1, count == input.count else { return nil }
    return output
  }

  private static func finish(_ context: OpaquePointer) -> Bool {
    var rest = [UInt8](repeating: 0, count: 16)
    var count: Int32 = 0
    return EVP_CipherFinal_ex(context, &rest, &count) == 1 && count == 0
  }
}
