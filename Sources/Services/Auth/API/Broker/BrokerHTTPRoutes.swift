internal import AuthDomain
internal import JSON
internal import RPC
internal import RPCServer
internal import ServiceKit
internal import Telemetry

/// The broker over plain HTTP: `GET /token`, `GET /whoami`, `GET /healthz`.
///
/// What surrounds every route (CORS headers, OPTIONS, 404 elsewhere, request ids, the access log) is the service kit's.
struct BrokerHTTPRoutes: Sendable {
  let broker: BrokerPipeline
  let proxies: TrustedProxies

  var routes: [HTTPRoute] {
    [
      secured(.get("/token") { request in try await token(request) }),
      secured(.get("/whoami") { request in try await whoAmI(request) }),
      secured(.get("/healthz", allowsHead: true) { _ in .text(200, "ok") }),
    ]
  }

  private func token(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    do throws(Refusal) {
      let (token, secondsLeft) = try await broker.exchange(self.request(request, capability: request.queryValue("capability")))
      return .json(200, BrokerJSON.token(token, secondsLeft: secondsLeft))
    } catch {
      return .error(error.rpcError)
    }
  }

  private func whoAmI(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    do throws(Refusal) { return .json(200, BrokerJSON.identity(try await broker.whoAmI(self.request(request)))) } catch {
      return .error(error.rpcError)
    }
  }

  private func request(_ request: HTTPServerRequest, capability: String? = nil) -> BrokerRequest {
    let client = proxies.client(of: request)
    return BrokerRequest(
      authorization: request.headerValues("authorization"), address: client.text, addressKey: client.limitKey,
      capability: capability, requestID: HTTPRequestID.current ?? "",
      note: { RequestNotes.current?.all = $0 })
  }

  private func secured(_ route: HTTPRoute) -> HTTPRoute {
    HTTPRoute(route.path) { request in try await route.handler(request).secured }
  }
}

/// The bodies of the broker's HTTP answers.
enum BrokerJSON {
  static func token(_ token: AccessToken, secondsLeft: Int64) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.name("access_token")
    writer.string(token.value)
    writer.name("token_type")
    writer.string(token.type)
    writer.name("expires_in")
    writer.int(secondsLeft)
    writer.endObject()
    return writer.bytes
  }

  static func identity(_ caller: CallerIdentity) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    func text(_ name: String, _ value: String?, _ writer: inout JSONWriter) {
      guard let value else { return }
      writer.name(name)
      writer.string(value)
    }
    text("sub", caller.subject, &writer)
    text("email", caller.email, &writer)
    if let isVerified = caller.emailIsVerified {
      writer.name("email_verified")
      writer.bool(isVerified)
    }
    text("name", caller.name, &writer)
    text("picture", caller.picture, &writer)
    text("hd", caller.hostedDomain, &writer)
    text("iss", caller.issuer, &writer)
    text("aud", caller.audience, &writer)
    writer.name("exp")
    writer.int(caller.expiry)
    writer.endObject()
    return writer.bytes
  }
}
