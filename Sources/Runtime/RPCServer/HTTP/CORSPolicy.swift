internal import RPC

/// Whose pages may call from a browser, and what they may send and see.
///
/// Nothing here lets a browser send cookies or other credentials of its own: `access-control-allow-credentials` is never said.
public struct CORSPolicy: Sendable, Hashable {
  /// The origins whose pages may call.
  public enum Origins: Sendable, Hashable {
    /// Every one: `*`.
    case any
    /// These, as browsers send them: `https://app.example.com`. An empty list is none.
    case list([String])
  }

  /// The origins whose pages may call.
  public var origins: Origins
  /// The request headers that pages may set beyond those of the protocols and `authorization`; nil for all that they ask for.
  public var requestHeaders: [String]?
  /// The response headers that pages may read beyond those of the protocols and of each response's own metadata.
  public var exposedHeaders: [String]
  /// How long a browser may remember the answer to a preflight.
  public var maximumAge: Duration

  /// Allows pages of these origins to call.
  public init(
    _ origins: Origins, requestHeaders: [String]? = nil, exposedHeaders: [String] = ["x-request-id"],
    maximumAge: Duration = .seconds(7_200)
  ) {
    self.origins = origins
    self.requestHeaders = requestHeaders
    self.exposedHeaders = exposedHeaders
    self.maximumAge = maximumAge
  }

  /// What `access-control-allow-origin` says to a page of `origin`; nil when the page may not call.
  public func allowedOrigin(for origin: String?) -> String? {
    switch origins {
    case .any: "*"
    // One origin alone is named whoever asks; of several, the one that asks.
    case .list(let list): list.count == 1 ? list[0] : origin.flatMap { list.contains($0) ? $0 : nil }
    }
  }

  /// The headers of an answer to a page of `origin`, which may read its metadata too.
  func answerFields(for origin: String?, _ metadata: some Sequence<String> = []) -> [(name: String, value: String)] {
    guard let allowed = allowedOrigin(for: origin) else { return [("vary", "Origin")] }
    var exposed = Self.exposed
    for name in exposedHeaders + metadata where !exposed.contains(name) { exposed.append(name) }
    return [
      ("access-control-allow-origin", allowed), ("access-control-expose-headers", exposed.joined(separator: ", ")),
      ("vary", "Origin"),
    ]
  }

  /// The headers of the answer to a preflight, which asks for a page of `origin` whether it may send these headers.
  func preflightFields(for origin: String?, asking wanted: String?) -> [(name: String, value: String)] {
    let vary = ("vary", "Origin, Access-Control-Request-Headers")
    guard let allowed = allowedOrigin(for: origin) else { return [vary] }
    var headers = Self.accepted + (requestHeaders ?? [])
    if requestHeaders == nil, let wanted, wanted.utf8.count <= 4_096 {
      for name in wanted.lowercased().split(separator: ",") {
        let name = name.trimmingBlanks
        if Metadata.isValidName(name), !headers.contains(name) { headers.append(name) }
      }
    }
    return [
      ("access-control-allow-origin", allowed), ("access-control-allow-methods", "GET, POST, OPTIONS"),
      ("access-control-allow-headers", headers.joined(separator: ", ")),
      ("access-control-max-age", "\(maximumAge.components.seconds)"), vary,
    ]
  }

  private static let accepted = [
    "authorization", "content-type", "content-encoding", "accept-encoding", "connect-protocol-version", "connect-timeout-ms",
    "connect-content-encoding", "connect-accept-encoding", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding", "x-grpc-web",
    "x-user-agent",
  ]

  private static let exposed = [
    "grpc-status", "grpc-message", "grpc-status-details-bin", "grpc-encoding", "grpc-accept-encoding", "content-encoding",
    "accept-encoding", "connect-content-encoding", "connect-accept-encoding", "retry-after",
  ]
}

extension Substring {
  fileprivate var trimmingBlanks: String {
    let trimmed = drop { $0 == " " || $0 == "\t" }
    return String(trimmed.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }
}
