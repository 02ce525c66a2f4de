public import EventLoop
internal import JOSE
internal import JSON
public import OpenID

/// Verifies what Apple posts about accounts (server-to-server notifications).
///
/// Nothing else proves the sender, so a body that this does not return has no meaning. Apple delivers again until it gets a 200:
/// whoever acts on a notification keeps its ``AppleNotification/id``.
public final class AppleNotificationVerifier: Sendable {
  /// The longest body that is read, in bytes.
  public static let maximumBodySize = 128 << 10

  private let verifier: IDTokenVerifier<AppleNotification>

  /// A verifier for the notifications of these clients.
  ///
  /// - Parameters:
  ///   - policy: Whose, for whom, and how exactly time is taken. Deliveries may be late, so let its maximum age be nil or days.
  ///   - keys: Apple's keys.
  ///   - loops: The loops that verify.
  ///   - clock: What tells the time.
  public init(_ policy: AppleIdentityTokenPolicy, keys: JWKSCache, loops: [EventLoop], clock: ProviderClock) {
    let audiences = policy.audiences
    var verification = policy.verification
    // The subject is the event's.
    verification.subjectRule = .leftToCaller
    verifier = IDTokenVerifier(
      verification, rememberedPerLoop: policy.rememberedTokensPerLoop, keys: keys, loops: loops, clock: clock
    ) { token throws(IDTokenError) in try AppleNotification(token, allowedAudiences: audiences) }
  }

  /// The notification in the body of a request: `{"payload": "<JWS>"}`.
  ///
  /// - Throws: ``OpenID/IDTokenError``: `rejected` with `body_malformed` when it is no such body, or with the reason for which
  ///   the token is refused.
  public func verify(body: [UInt8]) async throws(IDTokenError) -> AppleNotification {
    guard body.count <= Self.maximumBodySize, let payload = (try? JSONParser.parse(body))?["payload"]?.string else {
      throw IDTokenError(.rejected, reason: "body_malformed")
    }
    return try await verify(payload: payload)
  }

  /// The notification in a signed payload.
  ///
  /// - Throws: ``OpenID/IDTokenError``.
  public func verify(payload: String) async throws(IDTokenError) -> AppleNotification { try await verifier.verify(payload) }
}
