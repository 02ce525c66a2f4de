internal import COpenSSL
internal import CShims
internal import Glibc

/// A checked ``TLSConfiguration``, ready for connections: certificates are read, keys match, names are valid.
///
/// Immutable, so any thread may use it. To renew a certificate make a new context and use it for new connections; each
/// connection keeps the context that it began with. Session tickets are stateless and sealed with keys that each context draws
/// for itself; a server that asks for client certificates gives none out, because resumption would skip their verification.
public final class TLSContext {
  let pointer: OpaquePointer
  let isServer: Bool
  let serverName: String?
  let requiresApplicationProtocol: Bool
  /// ALPN's wire form: each protocol after a byte with its length. C callbacks read it, so it has an address of its own.
  let protocols: UnsafeMutableBufferPointer<UInt8>
  /// When the own leaf certificate's validity ends, in seconds since 1970; nil without a certificate.
  public let certificateExpiry: Int64?

  /// Reads and checks everything that `configuration` names.
  ///
  /// - Throws: ``TLSError`` with ``TLSError/Code/badPEM``, ``TLSError/Code/keyMismatch``,
  ///   ``TLSError/Code/certificateExpired``, ``TLSError/Code/certificateNotYetValid`` or
  ///   ``TLSError/Code/badConfiguration``.
  public init(_ configuration: TLSConfiguration) throws(TLSError) {
    ERR_clear_error()
    let wire = try Self.wireForm(configuration.applicationProtocols)
    guard configuration.minimumVersion <= configuration.maximumVersion else {
      throw TLSError(.badConfiguration, "the oldest TLS version is newer than the newest")
    }
    let setup: TLSContextSetup
    switch configuration.role {
    case .server(let identity, let clients):
      setup = try TLSContextSetup(TLS_server_method(), configuration)
      isServer = true
      serverName = nil
      try setup.use(identity)
      try setup.ask(clients)
    case .client(let trustRoots, let identity, let name):
      setup = try TLSContextSetup(TLS_client_method(), configuration)
      isServer = false
      serverName = name
      if let identity { try setup.use(identity) }
      try setup.trust(trustRoots)
      SSL_CTX_set_verify(setup.pointer, SSL_VERIFY_PEER, nil)
    }
    certificateExpiry = setup.expiry
    requiresApplicationProtocol = configuration.requiresApplicationProtocol && !wire.isEmpty
    protocols = .allocate(capacity: wire.count)
    _ = protocols.initialize(fromContentsOf: wire)
    pointer = setup.take()
    offerProtocols()
  }

  deinit {
    SSL_CTX_free(pointer)
    protocols.deallocate()
  }

  private static func wireForm(_ protocols: [String]) throws(TLSError) -> [UInt8] {
    var wire: [UInt8] = []
    for name in protocols {
      guard (1...255).contains(name.utf8.count) else {
        throw TLSError(.badConfiguration, "an application protocol's name has 1 to 255 bytes")
      }
      wire.append(UInt8(name.utf8.count))
      wire.append(contentsOf: name.utf8)
    }
    return wire
  }

  private func offerProtocols() {
    guard !protocols.isEmpty else { return }
    guard isServer else {
      SSL_CTX_set_alpn_protos(pointer, protocols.baseAddress, UInt32(protocols.count))
      return
    }
    // Unretained: every SSL belongs to an engine, which keeps this context alive.
    let context = Unmanaged.passUnretained(self).toOpaque()
    SSL_CTX_set_alpn_select_cb(
      pointer,
      { _, chosen, length, offered, count, context in
        Unmanaged<TLSContext>.fromOpaque(context!)._withUnsafeGuaranteedRef { context in
          var name: UnsafeMutablePointer<UInt8>?
          let ours = context.protocols
          let result = SSL_select_next_proto(&name, length, ours.baseAddress, UInt32(ours.count), offered, count)
          guard result == OPENSSL_NPN_NEGOTIATED else {
            return context.requiresApplicationProtocol ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
          }
          chosen!.pointee = UnsafePointer(name)
          return SSL_TLSEXT_ERR_OK
        }
      }, context)
    guard requiresApplicationProtocol else { return }
    // Without the extension the selection is never asked, so its absence is refused earlier.
    SSL_CTX_set_client_hello_cb(
      pointer,
      { ssl, alert, _ in
        var bytes: UnsafePointer<UInt8>?
        var count = 0
        let type = UInt32(TLSEXT_TYPE_application_layer_protocol_negotiation)
        if SSL_client_hello_get0_ext(ssl, type, &bytes, &count) == 1 { return SSL_CLIENT_HELLO_SUCCESS }
        alert!.pointee = SSL_AD_NO_APPLICATION_PROTOCOL
        return SSL_CLIENT_HELLO_ERROR
      }, nil)
  }
}

// SAFETY: the SSL_CTX is changed in `init` only; afterwards OpenSSL itself counts references and locks what connections share.
extension TLSContext: @unchecked Sendable {}
