internal import COpenSSL
internal import CShims
internal import Glibc

/// An SSL_CTX while it is being filled: freed when a step throws, handed over by ``take()``.
final class TLSContextSetup {
  let pointer: OpaquePointer
  private(set) var expiry: Int64?

  /// A context with what both sides have in common.
  init(_ method: OpaquePointer?, _ configuration: TLSConfiguration) throws(TLSError) {
    guard let pointer = SSL_CTX_new(method) else { throw OpenSSLErrors.take(.internal, "no TLS context") }
    self.pointer = pointer
    let (oldest, newest) = (configuration.minimumVersion.rawValue, configuration.maximumVersion.rawValue)
    guard parley_SSL_CTX_set_versions(pointer, oldest, newest) == 1,
      // ECDHE with AEAD only. AES-128 first: it is the faster one, and the mandatory one of RFC 8446.
      SSL_CTX_set_cipher_list(
        pointer,
        "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
          + "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305") == 1,
      SSL_CTX_set_ciphersuites(pointer, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") == 1,
      parley_SSL_CTX_set_groups(pointer, "X25519:P-256:P-384") == 1
    else { throw OpenSSLErrors.take(.internal, "a TLS parameter was refused") }
    SSL_CTX_set_options(pointer, parley_SSL_options_ours())
    _ = parley_SSL_CTX_set_mode(pointer, Int(SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
    // No store of sessions on either side: tickets carry them.
    _ = parley_SSL_CTX_set_session_cache_off(pointer)
    SSL_CTX_set_verify_depth(pointer, TLSLimits.chainDepth)
    parley_tls_watch_messages(pointer)
  }

  deinit { SSL_CTX_free(pointer) }

  /// Hands the context over to the caller, who frees it.
  func take() -> OpaquePointer {
    // The reference that this object's end gives back.
    SSL_CTX_up_ref(pointer)
    return pointer
  }

  /// Installs a certificate, its chain and its key, and checks that they belong together and are valid now.
  func use(_ identity: TLSConfiguration.Identity) throws(TLSError) {
    var chain = try PEMReader.certificates(identity.certificateChain, "the certificate chain")
    defer { for certificate in chain { X509_free(certificate) } }
    let leaf = chain[0]
    try checkValidity(of: leaf)
    guard SSL_CTX_use_certificate(pointer, leaf) == 1 else {
      throw OpenSSLErrors.take(.badConfiguration, "the certificate cannot be used")
    }
    while chain.count > 1 {
      guard parley_SSL_CTX_add0_chain_cert(pointer, chain[1]) == 1 else {
        throw OpenSSLErrors.take(.badConfiguration, "an intermediate certificate cannot be used")
      }
      chain.remove(at: 1)
    }
    let key = try PEMReader.privateKey(identity.privateKey, "the private key")
    defer { EVP_PKEY_free(key) }
    guard X509_check_private_key(leaf, key) == 1 else {
      throw OpenSSLErrors.take(.keyMismatch, "the private key does not belong to the certificate")
    }
    guard SSL_CTX_use_PrivateKey(pointer, key) == 1, SSL_CTX_check_private_key(pointer) == 1 else {
      throw OpenSSLErrors.take(.keyMismatch, "the private key cannot be used")
    }
  }

  private func checkValidity(of leaf: OpaquePointer) throws(TLSError) {
    guard X509_cmp_current_time(X509_get0_notAfter(leaf)) > 0 else {
      throw TLSError(.certificateExpired, "the certificate's validity is over")
    }
    guard X509_cmp_current_time(X509_get0_notBefore(leaf)) < 0 else {
      throw TLSError(.certificateNotYetValid, "the certificate's validity has not begun")
    }
    var fields = tm()
    if ASN1_TIME_to_tm(X509_get0_notAfter(leaf), &fields) == 1 { expiry = Int64(timegm(&fields)) }
  }

  /// Says what a server asks of its clients.
  func ask(_ clients: TLSConfiguration.ClientCertificates) throws(TLSError) {
    let roots: TLSConfiguration.TrustRoots
    var mode = SSL_VERIFY_PEER
    switch clients {
    case .none:
      SSL_CTX_set_verify(pointer, SSL_VERIFY_NONE, nil)
      SSL_CTX_set_num_tickets(pointer, 2)
      return
    case .optional(let trusted): roots = trusted
    case .required(let trusted):
      roots = trusted
      mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT
    }
    SSL_CTX_set_verify(pointer, mode, nil)
    SSL_CTX_set_num_tickets(pointer, 0)
    SSL_CTX_set_options(pointer, parley_SSL_option_no_ticket())
    try trust(roots, namingThem: true)
  }

  /// Sets the certificates that a peer's chain may end in.
  ///
  /// - Parameter namingThem: Whether a server tells its clients the roots' names, so that they can choose a certificate.
  func trust(_ roots: TLSConfiguration.TrustRoots, namingThem: Bool = false) throws(TLSError) {
    guard case .certificates(let pem) = roots else {
      guard SSL_CTX_set_default_verify_paths(pointer) == 1 else {
        throw OpenSSLErrors.take(.badConfiguration, "the system's trust roots cannot be read")
      }
      return
    }
    let anchors = try PEMReader.certificates(pem, "the trust roots")
    defer { for anchor in anchors { X509_free(anchor) } }
    let store = SSL_CTX_get_cert_store(pointer)
    for anchor in anchors {
      guard X509_STORE_add_cert(store, anchor) == 1, !namingThem || SSL_CTX_add_client_CA(pointer, anchor) == 1 else {
        throw OpenSSLErrors.take(.badConfiguration, "a trust root cannot be used")
      }
    }
    // Whatever the operator lists is an anchor, also an intermediate.
    X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
  }
}
