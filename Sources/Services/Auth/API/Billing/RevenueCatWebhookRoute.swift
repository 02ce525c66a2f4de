internal import AuthDomain
internal import AuthStore
internal import JOSE
internal import JSON
internal import Logging
internal import PostgreSQL
internal import RPCServer
internal import RevenueCatProvider
internal import ServiceKit
internal import Telemetry
internal import Values

/// `POST /webhooks/revenuecat`: takes an event and answers as soon as it is durable; RevenueCat itself is asked afterwards.
struct RevenueCatWebhookRoute: Sendable {
  let store: EntitlementStore
  let cache: EntitlementMemory
  /// The whole value of the `Authorization` header, as it was typed in RevenueCat's dashboard.
  let secret: String?
  let log: Logger
  let metrics: PrometheusRegistry
  let now: @Sendable () -> Instant

  var route: HTTPRoute {
    HTTPRoute("/webhooks/revenuecat", refusing: { .refused($0).secured }) { request in
      await answer(request).secured
    }
  }

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    guard request.method == "POST" else { return .text(405, "method not allowed", headers: [("allow", "POST, OPTIONS")]) }
    guard let secret else {
      log.error("a webhook came and no secret is set", metadata: ["setting": "\(BillingKeys.webhookSecret.name)"])
      return refusal(500, "webhook not configured", "unconfigured")
    }
    let shown = request.headerValues("authorization")
    guard !shown.isEmpty else { return refusal(400, "missing Authorization header", "no_authorization") }
    // Digests have one length, so that not even the secret's length shows in the time taken.
    guard shown.count == 1, ConstantTime.areEqual(digest(shown[0]), digest(secret)) else {
      return refusal(401, "invalid authorization", "wrong_authorization")
    }
    let webhook: RevenueCatWebhook
    do throws(RevenueCatWebhook.Fault) { webhook = try RevenueCatWebhook(parsing: request.body) } catch {
      return refusal(400, error == .noCustomer ? "missing app_user_id" : "invalid event", "malformed")
    }
    return await take(BillingEvent(webhook, receivedAt: now()), request.body)
  }

  private func take(_ event: BillingEvent, _ body: [UInt8]) async -> HTTPServerResponse {
    let fields: Logger.Metadata = ["event": "\(event.id)", "type": "\(event.type)"]
    do {
      switch try await store.take(event, body: body, at: now()) {
      case .repeated:
        count("repeated")
        return success("blocked")
      case .taken(let users):
        for user in users { cache.forget(user) }
        count("taken")
        log.info("RevenueCat told of an event", metadata: fields.merging(["users": "\(users)"]) { $1 })
        return success(event.meaning == .nothing ? "not handled" : "taken")
      }
    } catch let error as DatabaseError where error.category == .invalidArgument {
      // It will not be another one when it comes again.
      return refusal(400, "invalid event", "malformed")
    } catch {
      // RevenueCat sends it again.
      log.error("an event of RevenueCat's was not taken", metadata: fields.merging(["cause": "\(error)"]) { $1 })
      return refusal(503, "event not taken", "failed")
    }
  }

  private func digest(_ text: String) -> [UInt8] { SHA256.digest(Array(text.utf8)) }

  private func success(_ message: String) -> HTTPServerResponse {
    .json(200, (["success": true, "message": .string(message)] as JSONValue).encoded())
  }

  private func refusal(_ status: Int, _ text: String, _ outcome: String) -> HTTPServerResponse {
    count(outcome)
    return .json(status, (["success": false, "error": .string(text)] as JSONValue).encoded())
  }

  private func count(_ outcome: String) {
    metrics.counter(
      "parley_billing_webhooks_total", help: "Events that RevenueCat told of, by what became of them.",
      labels: [("outcome", outcome)]
    ).increment()
  }
}
