internal import COpenSSL
internal import CShims

/// A certificate authority that lives in memory and signs what tests need.
///
/// Keys are P-256, so making one takes well under a millisecond. All text is PEM.
public final class TestAuthority {
  /// A certificate with its key.
  public struct Leaf: Sendable {
    /// The certificate, then the chain up to the root, without the root.
    public let certificateChain: [UInt8]
    /// The private key, PKCS#8, without a pass phrase.
    public let privateKey: [UInt8]
  }

  /// When a leaf is valid, in seconds from now.
  public struct Validity: Sendable {
    var from: Int
    var to: Int

    /// From an hour ago for a day.
    public static let now = Validity(from: -3600, to: 86_400)
    /// Over since an hour.
    public static let past = Validity(from: -86_400, to: -3600)
    /// Begins in an hour.
    public static let future = Validity(from: 3600, to: 86_400)
  }

  /// The authority's own certificate.
  public let certificate: [UInt8]
  private let x509: OpaquePointer
  private let key: OpaquePointer
  /// The certificates between a leaf and the root, PEM.
  private let intermediates: [UInt8]
  private var serial = 1

  /// A root with the given common name.
  public init(commonName: String = "Parley test root") {
    let key = Self.newKey()
    let x509 = Self.newCertificate(
      commonName, key: key, issuer: nil, issuerKey: key, serial: 1, validity: .now,
      extensions: [(NID_basic_constraints, "critical,CA:TRUE"), (NID_key_usage, "critical,keyCertSign,cRLSign")])
    certificate = Self.pem { PEM_write_bio_X509($0, x509) }
    intermediates = []
    (self.key, self.x509) = (key, x509)
  }

  /// An authority below `root`: leaves carry its certificate in their chain.
  public init(below root: TestAuthority, commonName: String = "Parley test intermediate") {
    let key = Self.newKey()
    root.serial += 1
    let x509 = Self.newCertificate(
      commonName, key: key, issuer: root.x509, issuerKey: root.key, serial: root.serial, validity: .now,
      extensions: [(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"), (NID_key_usage, "critical,keyCertSign,cRLSign")])
    certificate = Self.pem { PEM_write_bio_X509($0, x509) }
    intermediates = certificate + root.intermediates
    (self.key, self.x509) = (key, x509)
  }

  deinit {
    X509_free(x509)
    EVP_PKEY_free(key)
  }

  /// A server's certificate for DNS names and IP addresses.
  public func server(names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1", "::1"], validity: Validity = .now)
    -> Leaf
  {
    let alternatives = names.map { "DNS:" + $0 } + addresses.map { "IP:" + $0 }
    return leaf(names.first ?? addresses.first ?? "server", alternatives, usage: "serverAuth", validity: validity)
  }

  /// A client's certificate, with URIs (such as SPIFFE identities) and DNS names.
  public func client(commonName: String, uris: [String] = [], names: [String] = [], validity: Validity = .now) -> Leaf {
    leaf(commonName, uris.map { "URI:" + $0 } + names.map { "DNS:" + $0 }, usage: "clientAuth", validity: validity)
  }

  private func leaf(_ commonName: String, _ alternatives: [String], usage: String, validity: Validity) -> Leaf {
    let leafKey = Self.newKey()
    defer { EVP_PKEY_free(leafKey) }
    serial += 1
    var extensions = [
      (NID_basic_constraints, "critical,CA:FALSE"), (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, usage),
    ]
    if !alternatives.isEmpty { extensions.append((NID_subject_alt_name, alternatives.joined(separator: ","))) }
    let leaf = Self.newCertificate(
      commonName, key: leafKey, issuer: x509, issuerKey: key, serial: serial, validity: validity, extensions: extensions)
    defer { X509_free(leaf) }
    return Leaf(
      certificateChain: Self.pem { PEM_write_bio_X509($0, leaf) } + intermediates,
      privateKey: Self.pem { PEM_write_bio_PKCS8PrivateKey($0, leafKey, nil, nil, 0, nil, nil) })
  }

  private static func newKey() -> OpaquePointer {
    let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    let isMade =
      EVP_PKEY_keygen_init(context) == 1 && EVP_PKEY_CTX_set_group_name(context, "P-256") == 1
      && EVP_PKEY_generate(context, &key) == 1
    precondition(isMade, "OpenSSL made no key")
    return key!
  }

  private static func newCertificate(
    _ commonName: String, key: OpaquePointer, issuer: OpaquePointer?, issuerKey: OpaquePointer, serial: Int, validity: Validity,
    extensions: [(Int32, String)]
  ) -> OpaquePointer {
    let certificate = X509_new()!
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial)
    X509_gmtime_adj(X509_getm_notBefore(certificate), validity.from)
    X509_gmtime_adj(X509_getm_notAfter(certificate), validity.to)
    X509_set_pubkey(certificate, key)
    let subject = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_FLAG, commonName, -1, -1, 0)
    X509_set_issuer_name(certificate, X509_get_subject_name(issuer ?? certificate))
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer ?? certificate, certificate, nil, nil, 0)
    for (identifier, value) in extensions {
      let made = X509V3_EXT_conf_nid(nil, &context, identifier, value)
      precondition(made != nil && X509_add_ext(certificate, made, -1) == 1, "OpenSSL refused the extension \(value)")
      X509_EXTENSION_free(made)
    }
    precondition(X509_sign(certificate, issuerKey, EVP_sha256()) > 0, "OpenSSL did not sign")
    return certificate
  }

  private static func pem(_ write: (OpaquePointer) -> Int32) -> [UInt8] {
    let bio = BIO_new(BIO_s_mem())!
    defer { BIO_free(bio) }
    precondition(write(bio) == 1, "OpenSSL wrote no PEM")
    var start: UnsafeMutableRawPointer?
    let count = BIO_ctrl(bio, BIO_CTRL_INFO, 0, &start)
    return [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}
