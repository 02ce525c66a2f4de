internal import EventLoop
internal import HTTP2

/// How a service encrypts, from its settings.
enum ServerTLS {
  /// The context; nil when TLS is not served.
  static func context(_ settings: Settings) throws(TLSError) -> TLSContext? {
    guard settings[StandardKeys.tlsListen] != nil, let certificate = settings[StandardKeys.tlsCertificate],
      let key = settings[StandardKeys.tlsKey]
    else { return nil }
    let roots = settings[StandardKeys.tlsClientCA].map { TLSConfiguration.TrustRoots.certificates(.file($0.path)) }
    return try TLSContext(
      .server(
        identity: .init(certificateChain: .file(certificate.path), privateKey: .file(key.path)),
        clients: roots.map { .required($0) } ?? .none))
  }
}
