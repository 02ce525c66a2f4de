public import RPC

/// Another service that may call an RPC service: `SessionDirectoryService=spiffe://parley/onboarding`.
public struct ServiceCaller: ConfigurationValue, Hashable {
  /// The RPC service, without its package.
  public let service: String
  /// Who may call it.
  public let identity: ClientIdentity

  /// What a text must be to be read.
  public static var expectation: String {
    "an RPC service without its package, an equals sign and \(ClientIdentity.expectation)"
  }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText text: String) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, !parts[0].isEmpty, let identity = ClientIdentity(configurationText: parts[1]),
      parts[0].utf8.allSatisfy({ (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) })
    else { return nil }
    (service, self.identity) = (parts[0], identity)
  }

  /// The value as it would be written.
  public var configurationText: String { "\(service)=\(identity.configurationText)" }

  /// The RPC services of which other services may call methods, by the names that settings know them by.
  public static func services(among services: [ServiceDescriptor]) -> [String] {
    services.filter { $0.methods.contains { $0.access == .service } }.map { shortName($0.name) }
  }

  /// A service's name without its package.
  static func shortName(_ name: String) -> String { name.split(separator: ".").last.map(String.init) ?? name }

  /// What is the matter with a setting for some services: one that is named and not there, and one that is there and that nobody is
  /// named for, though there is somebody for others.
  static func findings(
    _ callers: [ServiceCaller], _ key: any ConfigurationKeyDeclaration, for services: [ServiceDescriptor]
  ) -> [ConfigurationFinding] {
    let known = Self.services(among: services)
    let named = Set(callers.map(\.service))
    let unknown = named.subtracting(known).sorted().map { name in
      ConfigurationFinding.error(
        key, "there is no \(name) that other services call; there is \(known.isEmpty ? "none" : known.joined(separator: ", "))")
    }
    guard !named.isEmpty else { return unknown }
    return unknown
      + known.filter { !named.contains($0) }.map { .warning(key, "no identity is named for \($0): nobody may call it") }
  }
}
