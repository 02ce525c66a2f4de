internal import AuthDomain
internal import RPCServer
internal import ServiceKit

/// `GET /.well-known/jwks.json`: the public halves of the keys that sign access tokens, now, before, and next.
struct KeySetRoute: Sendable {
  static let path = "/.well-known/jwks.json"

  let keyring: SigningKeyring

  var route: HTTPRoute {
    .get(Self.path, allowsHead: true) { request in
      let snapshot: SigningKeyring.Snapshot
      do { snapshot = try await keyring.current() } catch {
        return .text(503, "keys unavailable", headers: [("cache-control", "no-store"), ("retry-after", "1")])
      }
      let headers = [
        ("cache-control", "public, max-age=\(keyring.policy.keySetLifetime.components.seconds)"),
        ("etag", snapshot.entityTag), ("x-content-type-options", "nosniff"),
      ]
      guard !Self.matches(request.headerValues("if-none-match"), snapshot.entityTag) else {
        return HTTPServerResponse(304, headers: headers)
      }
      return .json(200, snapshot.document, headers: headers)
    }
  }

  /// Whether a copy that has one of these tags is as good (RFC 9110, section 13.1.2: weak comparison).
  static func matches(_ fields: [String], _ entityTag: String) -> Bool {
    fields.flatMap { $0.split(separator: ",") }.contains { tag in
      let tag = tag.drop { $0 == " " || $0 == "\t" }
      let strong = tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
      let end = strong.lastIndex { $0 != " " && $0 != "\t" }
      return end.map { strong[...$0] == entityTag || strong[...$0] == "*" } ?? false
    }
  }
}
