public import RPCServer

/// The origins whose pages may call, as a setting.
public typealias CORSOrigins = CORSPolicy.Origins

extension CORSPolicy.Origins: ConfigurationValue {
  /// What a text must be to be read.
  public static var expectation: String { "*, none, or a list of origins such as https://app.example.com" }

  /// Reads a text; nil when it is not as ``expectation`` says.
  public init?(configurationText: String) {
    switch configurationText.trimmingBlanks {
    case "*": self = .any
    case "none": self = .list([])
    default:
      let origins = [String](configurationText: configurationText) ?? []
      guard !origins.isEmpty, origins.allSatisfy(Self.isOrigin) else { return nil }
      self = .list(origins)
    }
  }

  /// The value as it would be written.
  public var configurationText: String {
    switch self {
    case .any: "*"
    case .list(let origins): origins.isEmpty ? "none" : origins.joined(separator: ",")
    }
  }

  /// Scheme, host and port, nothing after them: what the `Origin` header holds (RFC 6454, section 7).
  private static func isOrigin(_ text: String) -> Bool {
    guard let scheme = text.firstRange(of: "://"), scheme.lowerBound != text.startIndex else { return false }
    let host = text[scheme.upperBound...]
    return !host.isEmpty && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != 0x2f && $0 != 0x2c && $0 != 0x2a }
  }
}
