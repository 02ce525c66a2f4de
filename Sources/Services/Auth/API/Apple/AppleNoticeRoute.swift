internal import AppleProvider
internal import AuthDomain
internal import AuthStore
internal import Logging
internal import OpenID
internal import PostgreSQL
internal import RPCServer
internal import ServiceKit
internal import Telemetry
internal import Values

/// `POST /webhooks/apple/notifications`: what Apple tells about the accounts of people who have signed in with it.
///
/// Answered with 200 only when all that follows is durable; Apple delivers again until then.
struct AppleNoticeRoute: Sendable {
  static let path = "/webhooks/apple/notifications"

  let verifier: AppleNotificationVerifier
  let apps: AppCatalogue
  let store: ProviderNoticeStore
  let limits: AccountLimits
  let limit: RateLimit
  let proxies: TrustedProxies
  let journal: AccountJournal
  let log: Logger
  let metrics: PrometheusRegistry
  let now: @Sendable () -> Instant

  var route: HTTPRoute {
    HTTPRoute(Self.path) { request in
      await answer(request).secured
    }
  }

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    guard request.method == "POST" else { return .text(405, "method not allowed", headers: [("allow", "POST, OPTIONS")]) }
    do throws(AccountRefusal) {
      // Before any look at the body: verifying it costs.
      try await limits.take(.notices(from: proxies.client(of: request).limitKey), limit, at: now(), otherwise: .addressLimited)
    } catch {
      count("any", error.kind == .addressLimited ? "limited" : "failed")
      return .error(error.rpcError)
    }
    guard request.body.count <= AppleNotificationVerifier.maximumBodySize else { return refusal(413, "too large", "malformed") }
    let notification: AppleNotification
    do throws(IDTokenError) { notification = try await verifier.verify(body: request.body) } catch {
      log.warning("a notification was refused", metadata: ["provider": "apple", "detail": "\(error.reason)"])
      switch error.code {
      case .rejected where error.reason == "body_malformed": return refusal(400, "invalid notification", "malformed")
      case .rejected: return refusal(401, "invalid notification", "refused")
      default: return refusal(503, "keys unavailable", "failed")
      }
    }
    return await take(ProviderNotice(notification), requestID: HTTPRequestID.current ?? "")
  }

  private func take(_ notice: ProviderNotice, requestID: String) async -> HTTPServerResponse {
    let concerned = apps.all.filter { $0.apple.audiences.contains(notice.clientID) }.map(\.name)
    let fields: Logger.Metadata = ["id": "\(notice.id)", "word": "\(notice.word)", "request_id": "\(requestID)"]
    do throws(DatabaseError) {
      switch try await store.take(notice, for: concerned, at: now(), requestID: requestID) {
      case .repeated: count(notice.label, "repeated")
      case .taken(let users, let ended):
        count(notice.label, users.isEmpty ? "nobody" : "taken")
        journal.sessionsEnded(ended.count, .consentRevoked)
        log.notice(
          "Apple told about an account",
          metadata: fields.merging(["users": "\(users)", "ended": "\(ended.count)"]) { $1 })
      }
      return .json(200, Array("{}".utf8))
    } catch {
      log.error("a notification was not taken", metadata: fields.merging(["cause": "\(error)"]) { $1 })
      return refusal(503, "not taken", "failed")
    }
  }

  private func refusal(_ status: Int, _ text: String, _ outcome: String) -> HTTPServerResponse {
    count("any", outcome)
    return .text(status, text, headers: status == 503 ? [("retry-after", "1")] : [])
  }

  private func count(_ word: String, _ outcome: String) {
    metrics.counter(
      "parley_apple_notifications_total", help: "Notifications of Apple's by what they tell and what became of them.",
      labels: [("word", word), ("outcome", outcome)]
    ).increment()
  }
}

extension ProviderNotice {
  /// What Apple told.
  init(_ notification: AppleNotification) {
    let (kind, word): (Kind, String) =
      switch notification.kind {
      case .emailEnabled: (.emailForwarding(true), "email-enabled")
      case .emailDisabled: (.emailForwarding(false), "email-disabled")
      case .consentRevoked: (.consentRevoked, "consent-revoked")
      case .accountDeleted: (.accountDeleted, "account-deleted")
      case .other(let word): (.other, word)
      }
    self.init(
      provider: .apple, id: notification.id, word: word, kind: kind, clientID: notification.audience,
      subject: notification.subject, occurredAt: Instant(microseconds: notification.occurredAt * 1000),
      email: notification.email, emailIsPrivate: notification.emailIsPrivate)
  }

  /// A word of this version's, so that no sender chooses names of metrics.
  fileprivate var label: String { kind == .other ? "other" : word }
}
