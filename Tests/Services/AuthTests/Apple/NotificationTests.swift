import AppleProvider
import JOSE
import JSON
import OpenID
import Testing

@Suite("Apple's notifications")
struct NotificationTests {
  private static let subject = "000000.0123456789abcdef0123456789abcdef.0000"

  private static func payload(
    events: JSONValue? = nil, key: SigningKey = FakeApple.key, _ changes: [(String, JSONValue?)] = []
  ) -> String {
    let event: JSONObject = ["type": "consent-revoked", "sub": .string(subject), "event_time": 1_799_999_000_123]
    var claims: JSONObject = [
      "iss": "https://appleid.apple.com", "aud": .string(FakeApple.bundleID), "iat": .number(JSONNumber(FakeGoogle.now)),
      "exp": .number(JSONNumber(FakeGoogle.now + 86_400)), "jti": "n-1",
      "events": events ?? .string(JSONValue.object(event).description),
    ]
    for (name, value) in changes { claims[name] = value }
    return (try? key.sign(claims: claims)) ?? ""
  }

  private static func body(_ payload: String) -> [UInt8] { (["payload": .string(payload)] as JSONValue).encoded() }

  private static func verdict(_ fixture: AppleFixture, _ body: [UInt8]) async -> String {
    do throws(IDTokenError) {
      return "\(try await fixture.notifications.verify(body: body).kind)"
    } catch { return error.reason }
  }

  @Test("AUTH-M9: a notification is verified, its events are read from their text, and its id tells deliveries apart")
  func notification() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let event: JSONObject = [
        "type": "email-disabled", "sub": .string(Self.subject), "event_time": 1_799_999_000_123,
        "email": "x@privaterelay.appleid.com", "is_private_email": "true",
      ]
      let body = Self.body(Self.payload(events: .string(JSONValue.object(event).description)))
      let notification = try await fixture.notifications.verify(body: body)
      #expect(notification.id == "n-1" && notification.kind == .emailDisabled && notification.subject == Self.subject)
      #expect(notification.occurredAt == 1_799_999_000_123 && notification.issuedAt == FakeGoogle.now)
      #expect(notification.audience == FakeApple.bundleID)
      #expect(notification.email == "x@privaterelay.appleid.com" && notification.emailIsPrivate)
      let again = try await fixture.notifications.verify(body: body)
      #expect(again == notification)
    }
  }

  @Test(
    "AUTH-M9: both spellings of a deleted account are one thing, and an unknown word is kept",
    arguments: [
      ("email-enabled", .emailEnabled), ("email-disabled", .emailDisabled), ("consent-revoked", .consentRevoked),
      ("account-delete", .accountDeleted), ("account-deleted", .accountDeleted), ("moon-eclipsed", .other("moon-eclipsed")),
    ] as [(String, AppleNotification.Kind)])
  func kinds(word: String, kind: AppleNotification.Kind) async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let event: JSONValue = ["type": .string(word), "sub": "s", "event_time": 1_799_999_000]
      for events in [event, .string(event.description)] {
        let notification = try await fixture.notifications.verify(payload: Self.payload(events: events))
        // Seconds, as in Apple's guide, are told from milliseconds.
        #expect(notification.kind == kind && notification.occurredAt == 1_799_999_000_000)
      }
    }
  }

  @Test("AUTH-M9: whoever is not Apple says nothing, and what is not readable is refused with its reason")
  func hostile() async throws {
    try await withLoops { group in
      let fixture = AppleFixture(group)
      let text = { (json: String) -> JSONValue in .string(json) }
      let identity = FakeApple.token()
      let table: [(String, [UInt8], String)] = [
        ("no JSON", Array("payload".utf8), "body_malformed"), ("no payload", Array("{}".utf8), "body_malformed"),
        ("a payload that is no text", Array(#"{"payload":{}}"#.utf8), "body_malformed"),
        ("a body of 128 KiB and a byte", [UInt8](repeating: 0x20, count: (128 << 10) + 1), "body_malformed"),
        ("an impostor's", Self.body(Self.payload(key: FakeApple.impostor)), "signature_invalid"),
        ("another issuer's", Self.body(Self.payload([("iss", "https://evil.example")])), "issuer_mismatch"),
        ("another client's", Self.body(Self.payload([("aud", "org.stranger")])), "audience_mismatch"),
        ("an expired one", Self.body(Self.payload([("exp", .number(JSONNumber(FakeGoogle.now - 61)))])), "expired"),
        ("one without end", Self.body(Self.payload([("exp", nil)])), "expiry_missing"),
        ("an identity token", Self.body(identity), "jti_missing"),
        ("an id that is no text", Self.body(Self.payload([("jti", 7)])), "jti_malformed"),
        ("an empty id", Self.body(Self.payload([("jti", "")])), "jti_malformed"),
        ("no events", Self.body(Self.payload([("events", nil)])), "events_missing"),
        ("events that are no JSON", Self.body(Self.payload(events: "consent-revoked")), "events_malformed"),
        ("events that are a list", Self.body(Self.payload(events: text("[]"))), "events_malformed"),
        ("an event without a type", Self.body(Self.payload(events: text(#"{"sub":"s"}"#))), "event_type_malformed"),
        ("an event about nobody", Self.body(Self.payload(events: text(#"{"type":"t"}"#))), "event_subject_malformed"),
        (
          "an event at no time", Self.body(Self.payload(events: text(#"{"type":"t","sub":"s","event_time":"now"}"#))),
          "event_time_malformed"
        ),
      ]
      for (name, body, reason) in table { #expect(await Self.verdict(fixture, body) == reason, "\(name)") }
      #expect(await Self.verdict(fixture, Self.body(Self.payload())) == "consentRevoked")
    }
  }

  @Test("A notification is no identity token: nobody signs in with one")
  func notForSignIn() async throws {
    try await withLoops { group in
      #expect(await AppleFixture(group).verdict(Self.payload()) == "subject_missing")
    }
  }
}
