/// Who the other end of a connection is, as the certificate says that it proved to own (mutual TLS).
///
/// Only a certificate that leads to a root of the server's choice gives an identity. It is the SPIFFE identity when there is one,
/// else the DNS names. The common name of a certificate's subject never is: it is free text that authorities check less.
public struct PeerIdentity: Sendable, Hashable, CustomStringConvertible {
  /// What kind of name it is.
  public enum Kind: Sendable, Hashable {
    /// A SPIFFE identity: `spiffe://parley/billing`.
    case spiffe
    /// DNS names: `billing.internal`.
    case dns
  }

  /// What kind of name it is.
  public let kind: Kind
  /// All names of that kind, at least one; DNS names in lower case.
  public let names: [String]
  /// The name for logs and keys: the first one.
  public var name: String { names[0] }
  /// The name.
  public var description: String { name }

  /// The identity that a verified certificate gives; nil when it names nobody.
  ///
  /// A certificate with a SPIFFE identity has that one URI and no other (SPIFFE X.509-SVID, section 2); one with more is
  /// ambiguous and gives none, also not by its DNS names.
  ///
  /// - Parameters:
  ///   - uris: The certificate's alternative names that are URIs.
  ///   - dnsNames: Those that are DNS names.
  public init?(uris: [String], dnsNames: [String]) {
    if uris.contains(where: { $0.lowercased().hasPrefix(Self.scheme) }) {
      guard uris.count == 1, Self.isSPIFFE(uris[0]) else { return nil }
      kind = .spiffe
      names = uris
    } else {
      guard !dnsNames.isEmpty else { return nil }
      kind = .dns
      names = dnsNames.map { $0.lowercased() }
    }
  }

  /// Whether one of the names is in `allowed`, letter by letter. A wildcard in a certificate is a name like any other.
  public func isAny(of allowed: Set<String>) -> Bool { names.contains { allowed.contains($0) } }

  private static let scheme = "spiffe://"

  /// A trust domain of lower-case letters, digits, `.`, `-` and `_`, then a path; at most 2,048 bytes (SPIFFE-ID, section 2).
  public static func isSPIFFE(_ text: String) -> Bool {
    guard text.hasPrefix(scheme), text.utf8.count <= 2_048 else { return false }
    let rest = text.utf8.dropFirst(scheme.utf8.count)
    let domain = rest.prefix { $0 != UInt8(ascii: "/") }
    return !domain.isEmpty && domain.count <= 255
      && domain.allSatisfy {
        switch $0 {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
          UInt8(ascii: "_"):
          true
        default: false
        }
      } && rest.dropFirst(domain.count).allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }
}
