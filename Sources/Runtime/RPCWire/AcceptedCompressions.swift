package import RPC

/// The compressions that one side can read, as a list of names in a header tells. No compression at all is always among them.
package struct AcceptedCompressions: OptionSet, Sendable {
  /// One bit each.
  package let rawValue: UInt8

  /// A set of bits.
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// RFC 1952.
  package static let gzip = AcceptedCompressions(rawValue: 1)
  /// RFC 1950.
  package static let deflate = AcceptedCompressions(rawValue: 2)

  /// What is spoken here, as such a header lists it.
  package static let supported = "gzip,deflate,identity"

  /// Reads a list: names between commas, in any case, each perhaps with a weight; a weight of zero takes the name out.
  package init(list: some Collection<UInt8>) {
    self = []
    for element in Array(list).split(separator: UInt8(ascii: ",")) {
      let parts = element.split(separator: UInt8(ascii: ";"))
      guard let name = parts.first, !parts.dropFirst().contains(where: { Self.isZeroWeight($0) }) else { continue }
      switch MessageCompression(named: name) {
      case .gzip: insert(.gzip)
      case .deflate: insert(.deflate)
      case .identity, nil: break
      }
    }
  }

  /// Whether messages in this compression can be read.
  package func accepts(_ compression: MessageCompression) -> Bool {
    switch compression {
    case .identity: true
    case .gzip: contains(.gzip)
    case .deflate: contains(.deflate)
    }
  }

  private static func isZeroWeight(_ parameter: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: parameter.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self)
    return text.hasPrefix("q=") && text.dropFirst(2).allSatisfy { $0 == "0" || $0 == "." }
  }
}

extension MessageCompression {
  /// The compression of a name in a header, in any case, blanks around it left aside; nil for one that is not spoken here.
  package init?(named name: some Collection<UInt8>) {
    let text = String(decoding: name.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercased()
    self.init(rawValue: text)
  }
}
