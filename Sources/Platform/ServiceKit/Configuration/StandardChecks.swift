internal import EventLoop
internal import HTTP2
internal import PostgreSQL

/// What must hold between the standard settings.
enum StandardChecks {
  static func findings(_ settings: Settings, hasDatabase: Bool) -> [ConfigurationFinding] {
    var findings = tls(settings) + clients(settings) + listeners(settings)
    if hasDatabase {
      for key in [StandardKeys.databaseURL] { findings += database(settings[key], key) }
      if let url = settings[StandardKeys.databaseOwnerURL] { findings += database(url, StandardKeys.databaseOwnerURL) }
    }
    return findings
  }

  private static func listeners(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = []
    let listen = settings[StandardKeys.listen]
    if let listen, !listen.isLoopback {
      findings.append(
        .warning(StandardKeys.listen, "clear text on \(listen): tokens can be read on the way unless a proxy in front encrypts"))
    }
    findings += admin(settings)
    findings += settings.ignoredVariables.map {
      ConfigurationFinding(severity: .warning, key: $0, message: "there is no such setting in this version: it is ignored")
    }
    if settings[StandardKeys.trustedProxies].contains(where: { $0.length == 0 && !$0.bytes.isEmpty }) {
      findings.append(.warning(StandardKeys.trustedProxies, "trusts every address: any client can claim to be another"))
    }
    return findings
  }

  /// The admin page has no guard of its own: settings, addresses of clients, what runs.
  private static func admin(_ settings: Settings) -> [ConfigurationFinding] {
    guard let address = settings[StandardKeys.adminListen] else {
      return [.warning(StandardKeys.adminListen, "not set: no metrics and no HTTP probes")]
    }
    if address.isLoopback { return [] }
    guard settings[StandardKeys.adminExposed] else {
      return [
        .error(
          StandardKeys.adminListen,
          "expected an address on the loopback interface, got \(address); another one only where \(StandardKeys.adminExposed.name) is true"
        )
      ]
    }
    return [
      .warning(
        StandardKeys.adminListen,
        "\(address): metrics, settings and open connections are shown, without any password, to whoever reaches it; keep others out by the network"
      )
    ]
  }

  private static func tls(_ settings: Settings) -> [ConfigurationFinding] {
    let certificate = settings[StandardKeys.tlsCertificate]
    let key = settings[StandardKeys.tlsKey]
    guard settings[StandardKeys.tlsListen] != nil else {
      return certificate == nil && key == nil ? [] : [.warning(StandardKeys.tlsListen, "not set: the certificate is not used")]
    }
    guard certificate != nil else { return [.error(StandardKeys.tlsCertificate, "must be set when tls.listen is")] }
    guard key != nil else { return [.error(StandardKeys.tlsKey, "must be set when tls.listen is")] }
    do throws(TLSError) {
      guard let context = try ServerTLS.context(settings), let expiry = context.certificateExpiry else { return [] }
      let days = (expiry - WallClock.system.unixSeconds) / 86_400
      return days < 14 ? [.warning(StandardKeys.tlsCertificate, "the certificate ends in \(days) days")] : []
    } catch {
      return [.error(StandardKeys.tlsCertificate, "certificate and key cannot be used: \(error.message)")]
    }
  }

  private static func clients(_ settings: Settings) -> [ConfigurationFinding] {
    guard settings[StandardKeys.tlsClientCA] == nil else { return [] }
    var needed: [String] = []
    if !settings[StandardKeys.tlsClientIdentities].isEmpty { needed.append(StandardKeys.tlsClientIdentities.name) }
    if !settings[StandardKeys.tlsAdminIdentities].isEmpty { needed.append(StandardKeys.tlsAdminIdentities.name) }
    return needed.map { .error(StandardKeys.tlsClientCA, "must be set when \($0) is: nothing else proves an identity") }
  }

  private static func database(_ url: String, _ key: any ConfigurationKeyDeclaration) -> [ConfigurationFinding] {
    do throws(DatabaseError) {
      try DatabaseConfiguration(url).validate()
      return []
    } catch {
      return [.error(key, error.message)]
    }
  }
}
