/// Where everything is that the walkthrough visits.
struct DemoPlaces: Sendable {
  /// `http://127.0.0.1:port`
  let edgeHTTP: String
  /// `https://localhost:port`
  let edgeHTTPS: String
  /// `host:port` of each copy of the service, without TLS.
  let copies: [String]
  /// `host:port` of the first copy, with TLS.
  let grpcTLS: String
  /// The root certificate of edge, sandbox and service.
  let caFile: String
  /// `https://localhost:port`
  let sandbox: String
  /// `https://localhost:port` of a second service, which takes the sessions of the first.
  let second: String
  /// `host:port` of the onboarding service, without TLS.
  let onboarding: String
  /// The folder in which the onboarding service keeps recordings.
  let recordings: String
  /// The client id that ID tokens are for.
  let audience: String
  /// A `postgresql://` URL that may read the audit.
  let database: String
}
