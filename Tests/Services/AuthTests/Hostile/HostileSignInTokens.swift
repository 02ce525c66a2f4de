import JOSE
import JSON

/// A token that nobody may sign in with, and the one word for why.
struct HostileToken: Sendable {
  let name: String
  let token: String
  let reason: String

  /// What is tried on each provider.
  static func table(_ provider: SignInDoor.Provider) -> [HostileToken] {
    forms(provider) + headers(provider) + claims(provider) + payloads(provider) + ownClaims(provider)
  }

  // MARK: Form

  private static func forms(_ provider: SignInDoor.Provider) -> [HostileToken] {
    let valid = provider.token()
    let parts = valid.split(separator: ".").map(String.init)
    let (header, payload, signature) = (parts[0], parts[1], parts[2])
    let zeros = Base64URL.encode([UInt8](repeating: 0, count: 256))
    let encrypted = Base64URL.encode(Array(#"{"alg":"RSA-OAEP","enc":"A256GCM","kid":"\#(provider.key.keyID)"}"#.utf8))
    return [
      .init(name: "nothing", token: "", reason: "part_count"),
      .init(name: "two points", token: "..", reason: "part_empty"),
      .init(name: "the signature left out", token: "\(header).\(payload).", reason: "part_empty"),
      .init(name: "the payload left out", token: "\(header)..\(signature)", reason: "part_empty"),
      .init(name: "header and payload alone", token: "\(header).\(payload)", reason: "part_count"),
      .init(name: "a fourth part", token: "\(valid).\(signature)", reason: "part_count"),
      .init(name: "two tokens, a blank between", token: "\(valid) \(valid)", reason: "part_count"),
      .init(name: "JSON serialization", token: #"{"payload":"\#(payload)","signature":"\#(signature)"}"#, reason: "part_count"),
      .init(name: "64 KiB and a byte", token: String(repeating: "A", count: 65_537), reason: "too_large"),
      .init(name: "a megabyte behind", token: valid + String(repeating: "A", count: 1 << 20), reason: "too_large"),
      .init(name: "padding behind", token: "\(valid)=", reason: "base64_invalid"),
      .init(name: "a blank behind", token: "\(valid) ", reason: "base64_invalid"),
      .init(name: "a line end behind", token: "\(valid)\n", reason: "base64_invalid"),
      .init(name: "NUL behind", token: "\(valid)\0", reason: "base64_invalid"),
      .init(name: "Bearer before", token: "Bearer \(valid)", reason: "base64_invalid"),
      .init(name: "quotes around", token: "\"\(valid)\"", reason: "base64_invalid"),
      .init(name: "standard base64", token: "\(header).\(payload).+/\(signature.dropFirst(2))", reason: "base64_invalid"),
      .init(name: "percent escapes", token: "\(header)%2E\(payload).\(signature).", reason: "part_empty"),
      .init(name: "a signature of zeros", token: "\(header).\(payload).\(zeros)", reason: "signature_invalid"),
      .init(name: "a signature of one byte", token: "\(header).\(payload).AA", reason: "signature_invalid"),
      .init(name: "a signature doubled", token: "\(header).\(payload).\(doubled(signature))", reason: "signature_invalid"),
      .init(
        name: "another token's signature",
        token: "\(header).\(payload).\(provider.token([("sub", "eve")]).split(separator: ".")[2])", reason: "signature_invalid"),
      .init(
        name: "another token's payload",
        token: "\(header).\(provider.token([("sub", "eve")]).split(separator: ".")[1]).\(signature)", reason: "signature_invalid"),
      .init(name: "an encrypted token", token: "\(encrypted).AA.AA.AA.AA", reason: "algorithm_not_allowed"),
      .init(
        name: "an encrypted token around a valid one", token: "\(encrypted).AA.AA.\(Base64URL.encode(Array(valid.utf8))).AA",
        reason: "algorithm_not_allowed"),
    ]
  }

  private static func doubled(_ signature: String) -> String {
    let bytes = Base64URL.decode(signature) ?? []
    return Base64URL.encode(bytes + bytes)
  }

  // MARK: Header

  private static func headers(_ provider: SignInDoor.Provider) -> [HostileToken] {
    let kid = provider.key.keyID
    let claims = JSONValue.object(provider.claims()).description
    func header(_ text: String, _ reason: String, key: SigningKey? = nil) -> HostileToken {
      .init(name: "header \(text.prefix(80))", token: provider.sign(header: text, payload: claims, key: key), reason: reason)
    }
    let own = JSONValue.object(provider.impostor.publicKey.jwk).description
    let algorithms = [
      "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS256", "ES256K", "EdDSA", "rs256",
      "RS256 ",
      "dir",
    ]
    return algorithms.map { header(#"{"alg":"\#($0)","kid":"\#(kid)"}"#, "algorithm_not_allowed") } + [
      header(#"{"kid":"\#(kid)"}"#, "algorithm_missing"),
      header(#"{"alg":null,"kid":"\#(kid)"}"#, "algorithm_not_allowed"),
      header(#"{"alg":["RS256"],"kid":"\#(kid)"}"#, "algorithm_not_allowed"),
      header(#"{"alg":"ES256","kid":"\#(FakeApple.curveKey.keyID)"}"#, "algorithm_not_allowed", key: FakeApple.curveKey),
      header(#"{"alg":"RS256","kid":"\#(FakeApple.curveKey.keyID)"}"#, "key_not_allowed"),
      header(#"{"alg":"RS256"}"#, "kid_missing"),
      header(#"{"alg":"RS256","kid":""}"#, "kid_invalid"),
      header(#"{"alg":"RS256","kid":7}"#, "kid_invalid"),
      header(#"{"alg":"RS256","kid":"\#(kid)\u0000"}"#, "kid_invalid"),
      header(#"{"alg":"RS256","kid":"\#(kid.uppercased())"}"#, "key_unknown"),
      header(#"{"alg":"RS256","kid":"../../../../etc/passwd"}"#, "key_unknown"),
      header(#"{"alg":"RS256","kid":"' or '1'='1"}"#, "key_unknown"),
      header(#"{"alg":"RS256","kid":"https://evil.example/keys"}"#, "key_unknown"),
      header(#"{"alg":"RS256","kid":"\#(kid)","crit":["exp"]}"#, "critical_header"),
      header(#"{"alg":"RS256","kid":"\#(kid)","b64":false}"#, "header_not_allowed"),
      header(#"{"alg":"RS256","kid":"\#(kid)","zip":"DEF"}"#, "header_not_allowed"),
      header(#"{"alg":"RS256","kid":"\#(kid)","enc":"A128GCM"}"#, "header_not_allowed"),
      header(#"{"alg":"RS256","kid":"\#(kid)","kid":"\#(kid)"}"#, "header_invalid"),
      header(#"{"alg":"none","alg":"RS256","kid":"\#(kid)"}"#, "header_invalid"),
      header(#"{"alg":"RS256","kid":"\#(kid)",}"#, "header_invalid"),
      header(#"{"alg":"RS256","kid":"\#(kid)","n":1e999}"#, "header_invalid"),
      header("[]", "header_invalid"), header("null", "header_invalid"),
      header(#"{"alg":"RS256","kid":"\#(kid)","jwk":\#(own)}"#, "signature_invalid", key: provider.impostor),
      header(#"{"alg":"RS256","kid":"\#(kid)","jku":"https://evil.example/keys"}"#, "signature_invalid", key: provider.impostor),
      header(#"{"alg":"RS256","kid":"\#(kid)","x5c":["MIIB"]}"#, "signature_invalid", key: provider.impostor),
    ]
  }

  // MARK: Claims

  private static func claims(_ provider: SignInDoor.Provider) -> [HostileToken] {
    let now = FakeGoogle.now
    var table: [HostileToken] = []
    func add(_ claim: String, _ values: [JSONValue?], _ reason: String) {
      for value in values {
        let spelling = value.map { "\($0)".unicodeScalars.prefix(60).map { $0.escaped(asASCII: true) }.joined() } ?? "absent"
        table.append(.init(name: "\(claim) \(spelling)", token: provider.token([(claim, value)]), reason: reason))
      }
    }
    func seconds(_ offset: Int64) -> JSONValue { .number(JSONNumber(now + offset)) }
    let other = provider == .google ? "https://appleid.apple.com" : "https://accounts.google.com"
    add("iss", [nil], "issuer_missing")
    add("iss", [.null, 1, [.string(provider.issuer)]], "issuer_malformed")
    add(
      "iss",
      [
        "", .string(provider.issuer + "/"), .string(provider.issuer.uppercased()), .string(" " + provider.issuer),
        .string(provider.issuer + ".evil.example"), .string(provider.issuer + "@evil.example"), .string(provider.issuer + "\0"),
        "https://evil.example", .string(other), .string("http" + provider.issuer.dropFirst(5)),
      ], "issuer_mismatch")
    add("aud", [nil], "audience_missing")
    add("aud", [.null, 0, true, [:], [.string(provider.audience), 1], [[.string(provider.audience)]]], "audience_malformed")
    add("aud", [[]], "audience_empty")
    add(
      "aud",
      [
        "", "*", "stranger", .string(provider.audience + " "), .string(provider.audience + ",stranger"),
        .string(provider.audience.uppercased()), ["stranger", "another"],
      ], "audience_mismatch")
    add("azp", [.null, 1, [.string(provider.audience)]], "authorized_party_malformed")
    add("azp", ["", "stranger"], "authorized_party_mismatch")
    add("exp", [nil], "expiry_missing")
    add("exp", [.null, "1800003600", true, [], JSONNumber(1e17).map(JSONValue.number)], "expiry_malformed")
    add("exp", [0, -1, seconds(-61), seconds(-86_400)], "expired")
    add("iat", [nil], "issued_at_missing")
    add("iat", [.null, "1800000000", false, [:]], "issued_at_malformed")
    add("iat", [seconds(61), seconds(86_400)], "issued_in_future")
    add("iat", [seconds(-601), seconds(-3600), 0], "too_old")
    add("nbf", [.null, "0", true], "not_before_malformed")
    add("nbf", [seconds(61)], "not_yet_valid")
    add("sub", [nil], "subject_missing")
    add("sub", [.null, 1, ["ana"], [:]], "subject_malformed")
    add("sub", [""], "subject_empty")
    add("sub", [.string(String(repeating: "s", count: 256))], "subject_too_long")
    add("nonce", [.null, 1, ["n-1"]], "nonce_malformed")
    add("nonce", [""], "nonce_empty")
    return table
  }

  private static func payloads(_ provider: SignInDoor.Provider) -> [HostileToken] {
    let header = #"{"alg":"RS256","kid":"\#(provider.key.keyID)"}"#
    let claims = JSONValue.object(provider.claims()).description
    let open = String(claims.dropLast())
    let texts: [(String, String)] = [
      ("an array", "[\(claims)]"), ("null", "null"), ("a byte-order mark", "\u{FEFF}\(claims)"), ("two objects", claims + claims),
      ("a second sub", "\(open),\"sub\":\"eve\"}"), ("a second aud behind an escape", "\(open),\"\\u0061ud\":\"eve\"}"),
      ("an infinite exp", "\(open),\"x\":1e999}"), ("no end", open), ("a token inside", provider.token()),
      ("a text", "\"\(provider.audience)\""), ("a number", "1"),
      ("a comma too many", "\(open),}"), ("a comment", "/**/\(claims)"),
      ("quotes of another kind", claims.replacing("\"", with: "'")), ("a lone surrogate", "\(open),\"x\":\"\\ud800\"}"),
      ("20,000 levels", "\(open),\"x\":\(String(repeating: "[", count: 20_000))"),
    ]
    return texts.map {
      .init(name: "payload: \($0)", token: provider.sign(header: header, payload: $1), reason: "payload_invalid")
    }
  }

  /// What only Apple's tokens can get wrong.
  private static func ownClaims(_ provider: SignInDoor.Provider) -> [HostileToken] {
    guard provider == .apple else { return [] }
    let wrong: [JSONValue] = [.null, 1, "yes", "TRUE", []]
    return ["email_verified", "is_private_email", "nonce_supported"].flatMap { claim in
      wrong.map { .init(name: "\(claim) \($0)", token: provider.token([(claim, $0)]), reason: "\(claim)_malformed") }
    } + [HostileToken(name: "email 1", token: provider.token([("email", 1)]), reason: "email_malformed")]
  }
}
