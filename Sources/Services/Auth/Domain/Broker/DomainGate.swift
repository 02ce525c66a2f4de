/// Whether an account belongs to the Workspace domain that the service is for.
public struct DomainGate: Sendable, Hashable {
  private let allowed: [UInt8]

  /// Admits the accounts of `domain`; everyone when it is empty or blank.
  public init(_ domain: String) { allowed = Self.folded(domain) }

  /// Whether everyone is admitted.
  public var isOpen: Bool { allowed.isEmpty }

  /// Whether an account of this hosted domain is admitted. Blanks around it and the case of letters do not count.
  public func admits(_ hostedDomain: String?) -> Bool {
    isOpen || hostedDomain.map { Self.folded($0) == allowed } ?? false
  }

  /// ASCII only: Unicode's case folding would make `K` (the Kelvin sign) and `k` the same.
  private static func folded(_ text: String) -> [UInt8] {
    let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0d).contains(byte) }
    let bytes = text.utf8.drop(while: isBlank).map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    return Array(bytes.prefix((bytes.lastIndex { !isBlank($0) } ?? -1) + 1))
  }
}
