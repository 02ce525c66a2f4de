internal import HTTP2
internal import ServiceKit

/// How a service of ours shows who it is to another one, and knows the other one.
enum ServiceCredential {
  /// The client's side of TLS, with the certificate and the key that these settings name, if they do.
  static func tls(
    _ settings: Settings, _ certificate: ConfigurationKey<ReadableFile?>, _ key: ConfigurationKey<ReadableFile?>
  ) throws(ConfigurationError) -> TLSContext {
    let roots = settings[StandardKeys.outboundCAFile].map { TLSConfiguration.TrustRoots.certificates(.file($0.path)) }
    var identity: TLSConfiguration.Identity?
    if let certificate = settings[certificate], let key = settings[key] {
      identity = .init(certificateChain: .file(certificate.path), privateKey: .file(key.path))
    }
    do { return try TLSContext(.client(trustRoots: roots ?? .system, identity: identity)) } catch {
      throw ConfigurationError([
        .init(
          key: certificate.name, variable: certificate.variable,
          "the certificate or the roots to trust cannot be used: \(error.message)")
      ])
    }
  }
}
