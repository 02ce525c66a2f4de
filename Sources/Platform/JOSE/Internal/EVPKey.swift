internal import COpenSSL

/// The one owner of an OpenSSL key.
///
/// SAFETY: the key is complete when it gets here and is only read from then on, which OpenSSL 3 allows from any number of
/// threads at once; each operation makes its own EVP_MD_CTX.
final class EVPKey: @unchecked Sendable {
  let pointer: OpaquePointer

  /// Takes the key over; it is freed with this object.
  init(taking pointer: OpaquePointer) { self.pointer = pointer }

  deinit { EVP_PKEY_free(pointer) }

  /// Reads a SubjectPublicKeyInfo; nil if OpenSSL refuses it.
  convenience init?(publicKeyDER der: [UInt8]) {
    defer { ERR_clear_error() }
    let pointer = der.withUnsafeBufferPointer { buffer in
      var position = buffer.baseAddress
      return d2i_PUBKEY(nil, &position, buffer.count)
    }
    guard let pointer else { return nil }
    self.init(taking: pointer)
  }

  /// Whether the point of an elliptic-curve key lies on its curve. (On RSA keys the same check costs 3 ms and proves little.)
  var passesPublicCheck: Bool {
    defer { ERR_clear_error() }
    guard let context = EVP_PKEY_CTX_new(pointer, nil) else { return false }
    defer { EVP_PKEY_CTX_free(context) }
    return EVP_PKEY_public_check(context) == 1
  }

  /// Whether the signature is that of the message: PKCS#1 v1.5 for RSA, DER for ECDSA, both over SHA-256.
  func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    defer { ERR_clear_error() }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pointer) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }

  /// The signature of the message: PKCS#1 v1.5 for RSA, DER for ECDSA, both over SHA-256. Nil if the key cannot sign.
  func signature(of message: [UInt8]) -> [UInt8]? {
    defer { ERR_clear_error() }
    guard let context = EVP_MD_CTX_new() else { return nil }
    defer { EVP_MD_CTX_free(context) }
    var length = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { return nil }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { return nil }
    return Array(signature[..<length])
  }

  /// A number of the key as big-endian bytes, as long as asked or, without a length, as short as possible.
  func number(_ name: String, byteCount: Int? = nil) -> [UInt8]? {
    defer { ERR_clear_error() }
    var number: OpaquePointer?
    guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else { return nil }
    defer { BN_free(number) }
    var bytes = [UInt8](repeating: 0, count: byteCount ?? Int((BN_num_bits(number) + 7) / 8))
    return BN_bn2binpad(number, &bytes, Int32(bytes.count)) >= 0 ? bytes : nil
  }

  /// The name of an elliptic-curve key's curve, as OpenSSL calls it.
  var curveName: String? {
    defer { ERR_clear_error() }
    var name = [CChar](repeating: 0, count: 64)
    var length = 0
    guard EVP_PKEY_get_utf8_string_param(pointer, "group", &name, name.count, &length) == 1 else { return nil }
    return String(decoding: name[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func isKind(_ name: String) -> Bool { EVP_PKEY_is_a(pointer, name) == 1 }

  var bitCount: Int { Int(EVP_PKEY_get_bits(pointer)) }
}
