import Glibc
import JOSE
import RPCServer

/// Google's cloud as far as the broker and the apps know it: where tokens come from, and two APIs that take them.
///
/// The APIs accept only tokens that this sandbox has handed out, with the right account behind them.
final class CloudStandIn: Sendable {
  private static let metadata = "/computeMetadata/v1/instance/service-accounts/default"

  private let google: GoogleStandIn
  private let now: @Sendable () -> Int64

  /// The cloud that takes the tokens of `google`. `now` is in seconds since 1970.
  init(_ google: GoogleStandIn, now: @escaping @Sendable () -> Int64 = { Int64(time(nil)) }) {
    self.google = google
    self.now = now
  }

  /// What is served, by its paths.
  var routes: [StandInRoute] {
    let (google, now, tokens) = (google, now, google.tokens)
    return [
      StandInRoute(method: "GET", path: "/google/metadata/token", aliases: [Self.metadata + "/token"]) {
        MetadataEndpoint(tokens: tokens, lifetime: google.settings.tokenLifetime).token($0, now: now())
      },
      StandInRoute(method: "GET", path: "/google/metadata/email", aliases: [Self.metadata + "/email"]) {
        MetadataEndpoint(tokens: tokens, lifetime: 0).email($0)
      },
      StandInRoute(method: "POST", path: "/google/sts", aliases: ["/v1/token"]) {
        try ExchangeEndpoint(tokens: tokens, keys: google.publishedKeys, lifetime: google.settings.tokenLifetime)
          .answer($0, now: now())
      },
      api("/google/impersonation", .init(prefix: ImpersonationEndpoint.prefix, suffix: ImpersonationEndpoint.suffix)) {
        request throws(CloudRefusal) in try ImpersonationEndpoint(tokens: tokens).answer(request, now: now())
      },
      api("/google/gemini", .init(prefix: GeminiEndpoint.prefix, suffix: GeminiEndpoint.suffix)) {
        request throws(CloudRefusal) in try GeminiEndpoint(tokens: tokens).answer(request, now: now())
      },
      StandInRoute(method: "POST", path: "/google/speech", aliases: [SpeechEndpoint.path]) { request in
        do throws(CloudRefusal) { return try SpeechEndpoint(tokens: tokens).answer(request, now: now()) } catch {
          return error.response
        }
      },
    ]
  }

  private func api(
    _ path: String, _ pattern: PathPattern,
    _ answer: @escaping @Sendable (HTTPServerRequest) throws(CloudRefusal) -> HTTPServerResponse
  ) -> StandInRoute {
    StandInRoute(method: "POST", path: path, patterns: [pattern]) { request in
      do throws(CloudRefusal) { return try answer(request) } catch { return error.response }
    }
  }
}
