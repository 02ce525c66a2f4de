import EventLoop
import JOSE
import JSON
import RPCServer

/// What steers the sandbox: only tests and people use these paths, no service does.
struct ControlRoutes: Sendable {
  let google: GoogleStandIn
  let apple: AppleStandIn
  /// What can be told to fail.
  let standIns: [StandInRoute]
  let faults: FaultPlan
  let counters: ServedCounters
  /// Where keys are made, which takes a while.
  let blocking: BlockingPool

  var routes: [HTTPRoute] {
    [
      route("/sandbox/google/id-token", ["POST": mintIDToken]),
      route("/sandbox/google/rotate-keys", ["POST": rotateGoogleKeys]),
      route("/sandbox/google/service-account", ["GET": { [google] _ in .json(200, try google.serviceAccountDocument) }]),
      route("/sandbox/google/settings", ["GET": { [google] _ in .json(google.settings.json) }, "POST": changeSettings]),
      route("/sandbox/apple/identity-token", ["POST": mintIdentityToken]),
      route("/sandbox/apple/notification", ["POST": mintNotification]),
      route("/sandbox/apple/rotate-keys", ["POST": rotateAppleKeys]),
      route("/sandbox/apple/credential", ["GET": { [apple] _ in .json(apple.developer.json) }]),
      route("/sandbox/apple/grants", ["GET": { [apple] _ in .json(apple.grants) }]),
      route("/sandbox/faults", ["GET": { _ in showFaults() }, "POST": addFault, "DELETE": removeFaults]),
      route(
        "/sandbox/counters",
        [
          "GET": { [counters] _ in .json(counters.json) },
          "DELETE": { [counters] _ in
            counters.reset()
            return .json(counters.json)
          },
        ]),
    ]
  }

  /// A path with what answers each method; a request that is at fault gets 400.
  func route(_ path: String, _ methods: [String: HTTPRoute.Handler]) -> HTTPRoute {
    HTTPRoute(path) { request in
      guard let handler = methods[request.method] else {
        return .text(405, "method not allowed\n", headers: [("allow", methods.keys.sorted().joined(separator: ", "))])
      }
      do { return try await handler(request) } catch let fault as ControlRequest.Fault {
        return .json(["error": .string(fault.message)], status: 400)
      }
    }
  }

  // MARK: Google

  private func mintIDToken(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let wanted = try IDTokenRequest.read(ControlRequest(request, allowing: IDTokenRequest.names))
    return .json(["token": .string(try google.idToken(wanted))])
  }

  private func rotateGoogleKeys(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    try await rotate(request) { [google] in try google.rotateKeys(withdrawingOld: $0) }
  }

  private func rotate(
    _ request: HTTPServerRequest, _ rotation: @escaping @Sendable (Bool) throws -> PublishedKeys
  ) async throws -> HTTPServerResponse {
    let withdraws = try ControlRequest(request, allowing: ["withdraw"]).flag("withdraw")
    let keys = try await blocking.run { try rotation(withdraws) }
    return .json(["kid": .string(keys.current.keyID), "published": .array(keys.published.map { .string($0.keyID) })])
  }

  private func changeSettings(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let request = try ControlRequest(request, allowing: ["tokenLifetime", "certsMaxAge"])
    let lifetime = try request.integer("tokenLifetime", in: 0...86_400)
    let maxAge = try request.integer("certsMaxAge", in: 0...86_400)
    return .json(
      google.change { settings in
        if let lifetime { settings.tokenLifetime = lifetime }
        if let maxAge { settings.certsMaxAge = maxAge }
      }.json)
  }

  // MARK: Apple

  private func mintIdentityToken(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let wanted = try IdentityTokenRequest.read(ControlRequest(request, allowing: IdentityTokenRequest.names))
    let (token, code) = try apple.identityToken(wanted)
    var answer: JSONObject = ["token": .string(token)]
    answer["code"] = code.map(JSONValue.string)
    return .json(.object(answer))
  }

  private func mintNotification(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    .json(try apple.notification(ControlRequest(request, allowing: NotificationRequest.names)))
  }

  private func rotateAppleKeys(_ request: HTTPServerRequest) async throws -> HTTPServerResponse {
    try await rotate(request) { [apple] in try apple.rotateKeys(withdrawingOld: $0) }
  }

  /// What is at a path that a control request names.
  func standIn(_ path: String?) throws(ControlRequest.Fault) -> StandInRoute {
    guard let path else { throw ControlRequest.Fault(message: "'path' is missing") }
    guard let route = standIns.first(where: { $0.path == path || $0.aliases.contains(path) }) else {
      let known = standIns.map(\.path).joined(separator: ", ")
      throw ControlRequest.Fault(message: "there is nothing at '\(path)'; known are \(known)")
    }
    return route
  }

  // MARK: Faults

  private func showFaults() -> HTTPServerResponse { .json(["faults": .array(faults.pending.map(\.json))]) }

  private func addFault(_ request: HTTPServerRequest) throws -> HTTPServerResponse {
    let request = try ControlRequest(
      request, allowing: ["path", "method", "status", "delayMs", "drop", "code", "retryAfter", "after", "count"])
    let (route, method) = (try standIn(request.text("path")), try request.text("method"))
    let methods = [route.method] + route.otherMethods
    if let method, !methods.contains(method) {
      throw ControlRequest.Fault(message: "'\(route.path)' answers \(methods.joined(separator: ", "))")
    }
    let fault = FaultPlan.Fault(
      path: route.path, method: method, status: try request.integer("status", in: 200...599),
      delayMilliseconds: try request.integer("delayMs", in: 0...600_000) ?? 0, drops: try request.flag("drop"),
      code: try request.text("code"), retryAfter: try request.text("retryAfter"), isAfter: try request.flag("after"),
      count: try request.integer("count", in: 1...1_000_000))
    guard fault.status != nil || fault.delayMilliseconds > 0 || fault.drops else {
      throw ControlRequest.Fault(message: "a fault has a 'status', a 'delayMs' or 'drop'")
    }
    faults.add(fault)
    return showFaults()
  }

  private func removeFaults(_ request: HTTPServerRequest) -> HTTPServerResponse {
    faults.remove(path: request.queryValue("path"))
    return showFaults()
  }
}

extension HTTPServerResponse {
  /// A response of JSON.
  static func json(_ value: JSONValue, status: Int = 200) -> HTTPServerResponse { .json(status, value.encoded()) }
}
