internal import COpenSSL
internal import CShims

/// The leaf certificate that a peer proved to own, and the names that it was given.
///
/// Only what leads to a trust root gets this far. Names with a NUL byte or broken UTF-8 are left out.
public struct TLSPeerCertificate: Sendable, Hashable {
  /// The certificate in DER.
  public let der: [UInt8]
  /// The subject's common name, for people; not for decisions.
  public let commonName: String?
  /// The subject alternative names that are DNS names.
  public let dnsNames: [String]
  /// The subject alternative names that are URIs, such as SPIFFE identities.
  public let uris: [String]

  init(_ certificate: OpaquePointer) {
    let size = max(0, Int(i2d_X509(certificate, nil)))
    der = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      var end = buffer.baseAddress
      count = max(0, Int(i2d_X509(certificate, &end)))
    }
    commonName = Self.commonName(of: certificate)
    var (dnsNames, uris): ([String], [String]) = ([], [])
    if let raw = X509_get_ext_d2i(certificate, NID_subject_alt_name, nil, nil) {
      let names = OpaquePointer(raw)
      for index in 0..<max(0, OPENSSL_sk_num(names)) {
        guard let entry = OPENSSL_sk_value(names, index)?.assumingMemoryBound(to: GENERAL_NAME.self) else { continue }
        switch entry.pointee.type {
        case GEN_DNS: Self.text(entry.pointee.d.dNSName).map { dnsNames.append($0) }
        case GEN_URI: Self.text(entry.pointee.d.uniformResourceIdentifier).map { uris.append($0) }
        default: break
        }
      }
      GENERAL_NAMES_free(names)
    }
    (self.dnsNames, self.uris) = (dnsNames, uris)
  }

  private static func commonName(of certificate: OpaquePointer) -> String? {
    let subject = X509_get_subject_name(certificate)
    let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
    guard index >= 0, let entry = X509_NAME_get_entry(subject, index) else { return nil }
    var bytes: UnsafeMutablePointer<UInt8>?
    let count = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(entry))
    guard count >= 0, let bytes else { return nil }
    defer { parley_OPENSSL_free(bytes) }
    return text(UnsafeBufferPointer(start: bytes, count: Int(count)))
  }

  private static func text(_ string: UnsafeMutablePointer<ASN1_STRING>?) -> String? {
    guard let string else { return nil }
    return text(UnsafeBufferPointer(start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string))))
  }

  private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
    bytes.contains(0) ? nil : String(validating: bytes, as: UTF8.self)
  }
}
