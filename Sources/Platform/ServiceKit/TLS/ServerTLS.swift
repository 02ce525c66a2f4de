internal import EventLoop
internal import HTTP2

/// How a service encrypts, from its settings.
enum ServerTLS {
  /// The context; nil when TLS is not served.
  static func context(_ settings: Settings) throws(TLSError) -> TLSContext? {
    guard settings[StandardKeys.tlsListen] != nil, let certificate = settings[StandardKeys.tlsCertificate],
      let key = settings[StandardKeys.tlsKey]
    else { return nil }
    return try TLSContext(
      .server(
        identity: .init(certificateChain: .file(certificate.path), privateKey: .file(key.path)),
        clients: clients(settings)))
  }

  /// The files that the context is made of.
  static func files(_ settings: Settings) -> [String] {
    [StandardKeys.tlsCertificate, StandardKeys.tlsKey, StandardKeys.tlsClientCA].compactMap { settings[$0]?.path }
  }

  private static func clients(_ settings: Settings) -> TLSConfiguration.ClientCertificates {
    guard let file = settings[StandardKeys.tlsClientCA] else { return .none }
    let roots = TLSConfiguration.TrustRoots.certificates(.file(file.path))
    return switch settings[StandardKeys.tlsClientCertificates] {
    case .required: .required(roots)
    case .optional: .optional(roots)
    }
  }
}
