extension StandardKeys {
  /// The server's certificate chain.
  public static let tlsCertificate = ConfigurationKey<ReadableFile?>(
    optional: "tls.certificate", "The PEM file with the server's certificate, then the intermediates; read again when it changes."
  )
  /// The certificate's private key.
  public static let tlsKey = ConfigurationKey<ReadableFile?>(
    optional: "tls.key", "The PEM file with the certificate's private key; read again when it changes.")
  /// Who signs the clients' certificates.
  public static let tlsClientCA = ConfigurationKey<ReadableFile?>(
    optional: "tls.clientCa", "The PEM file with the roots of client certificates (mutual TLS); read again when it changes.")
  /// Whether a client may come without a certificate.
  public static let tlsClientCertificates = ConfigurationKey<ClientCertificateNeed>(
    "tls.clientCertificates", default: .required,
    "With tls.clientCa: whether every client must show a certificate, or may.")
  /// Which clients may call methods of SERVICE access.
  public static let tlsClientIdentities = ConfigurationKey<[ServiceCaller]>(
    "tls.clientIdentities", default: [],
    "Which identities in client certificates may call methods of SERVICE access, service by service: SessionDirectoryService=spiffe://parley/onboarding,…; needs tls.clientCa."
  )
  /// Which clients may call methods of ADMIN access.
  public static let tlsAdminIdentities = ConfigurationKey<[ClientIdentity]>(
    "tls.adminIdentities", default: [],
    "The identities in client certificates that may call methods of ADMIN access; needs tls.clientCa.")
  /// How often the files are looked at.
  public static let tlsWatchInterval = ConfigurationKey<Duration>(
    "tls.watchInterval", default: .seconds(5), in: .milliseconds(50) ... .seconds(86_400),
    "How often the TLS files are looked at for a change; SIGHUP reads them at once.")

  static var tls: [any ConfigurationKeyDeclaration] {
    [
      tlsListen, tlsCertificate, tlsKey, tlsClientCA, tlsClientCertificates, tlsClientIdentities, tlsAdminIdentities,
      tlsWatchInterval,
    ]
  }
}

/// Whether a client must show a certificate.
public enum ClientCertificateNeed: String, CaseIterable, ConfigurationValue {
  /// Without one it does not get past the handshake.
  case required
  /// It may come without one; methods of SERVICE access are closed to it then.
  case optional
}
