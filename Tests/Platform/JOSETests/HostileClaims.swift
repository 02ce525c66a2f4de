import JOSE
import JSON

/// Claims that must be refused although the signature is right.
enum HostileClaims {
  static let table: [JudgedToken] = {
    let now = TestTokens.now
    var table: [JudgedToken] = []
    func add(_ name: String, _ value: JSONValue?, _ verdict: String) {
      let spelling = value.map { $0.description.unicodeScalars.prefix(60).map { $0.escaped(asASCII: true) }.joined() } ?? "absent"
      table.append(JudgedToken("\(name) \(spelling)", TestTokens.token(TestTokens.claims([(name, value)])), verdict))
    }
    func add(_ name: String, _ values: [JSONValue], _ verdict: String) {
      for value in values { add(name, value, verdict) }
    }
    func number(_ text: String) -> JSONValue { (try? JSONParser.parse(text)) ?? .null }
    let notStrings: [JSONValue] = [.null, 0, true, [], [:]]
    let notNumbers: [JSONValue] = [.null, "1800003600", true, [], [:], number("1e17"), number("-1e300")]

    add("iss", nil, "issuer_missing")
    add("iss", notStrings, "issuer_malformed")
    add("iss", .array([.string(TestTokens.issuer)]), "issuer_malformed")
    add("iss", "accounts.google.com", "accepted")
    add(
      "iss",
      [
        "", "https://accounts.google.com/", "http://accounts.google.com", "https://accounts.google.com.evil.example",
        "https://evil.example", "HTTPS://accounts.google.com", " https://accounts.google.com", "https://accounts.google.com\0",
        "https://accounts.g\u{6F}\u{301}ogle.com", "https://appleid.apple.com",
      ], "issuer_mismatch")

    add("aud", nil, "audience_missing")
    add("aud", [.null, 0, true, [:], ["web-client", 1], [.null], [["web-client"]]], "audience_malformed")
    add("aud", .array([]), "audience_empty")
    add("aud", ["ios-client", ["ios-client"], ["other", "web-client"], ["web-client", "web-client"]], "accepted")
    add(
      "aud", ["", "Web-Client", "web-client ", "web", "web-client,ios-client", [""], ["other", "another"], "*"],
      "audience_mismatch")
    add("aud", "Kelvin", "accepted")
    add("aud", "\u{212A}elvin", "audience_mismatch")
    add("aud", .array(["\u{212A}elvin"]), "audience_mismatch")

    add("azp", ["web-client", "ios-client"], "accepted")
    add("azp", notStrings, "authorized_party_malformed")
    add("azp", ["", "other", "\u{212A}elvin"], "authorized_party_mismatch")

    add("exp", nil, "expiry_missing")
    add("exp", notNumbers, "expiry_malformed")
    add("exp", [0, -1, number("-0"), .number(JSONNumber(now - 61)), number("\(now - 61).999"), number("1e3")], "expired")
    add("exp", [.number(JSONNumber(now - 60)), number("\(now - 60).5"), number("9e15"), number("1.8000036e9")], "accepted")

    add("iat", nil, "issued_at_missing")
    add("iat", notNumbers, "issued_at_malformed")
    add("iat", [.number(JSONNumber(now + 61)), number("\(now + 60).001"), number("9e15")], "issued_in_future")
    add("iat", [.number(JSONNumber(now + 60)), 0], "accepted")

    add("nbf", notNumbers, "not_before_malformed")
    add("nbf", [.number(JSONNumber(now + 301)), number("\(now + 300).5"), number("9e15")], "not_yet_valid")
    add("nbf", [.number(JSONNumber(now + 300)), 0], "accepted")

    add("sub", nil, "subject_missing")
    add("sub", notStrings, "subject_malformed")
    add("sub", "", "subject_empty")
    return table + payloads
  }()

  /// Payloads that are no strict JSON object.
  private static let payloads: [JudgedToken] = {
    let header = #"{"alg":"ES256","kid":"ec-1"}"#
    let claims = JSONValue.object(TestTokens.claims).description
    let open = String(claims.dropLast())
    let table: [(String, String)] = [
      ("a word", "foo"), ("a string", "\"claims\""), ("an array", "[\(claims)]"), ("null", "null"), ("a number", "1"),
      ("a blank", " "), ("a byte-order mark", "\u{FEFF}\(claims)"), ("a trailing comma", "\(open),}"),
      ("more behind", "\(claims){}"),
      ("a duplicate sub", "\(open),\"sub\":\"root\"}"), ("a duplicate behind an escape", "\(open),\"\\u0073ub\":\"root\"}"),
      ("a duplicate inside", "\(open),\"x\":{\"a\":1,\"a\":2}}"), ("an infinite number", "\(open),\"x\":1e999}"),
      ("a raw control character", "\(open),\"x\":\"\u{1}\"}"), ("half a surrogate pair", "\(open),\"x\":\"\\udc00\"}"),
      ("no end", open), ("40 levels", "\(open),\"x\":\(String(repeating: "[", count: 40))\(String(repeating: "]", count: 40))}"),
      ("20,000 levels", "\(open),\"x\":\(String(repeating: "[", count: 20_000))"),
      ("a token inside the token", TestTokens.token()),
    ]
    return table.map { name, payload in
      JudgedToken("payload: \(name)", TestTokens.sign(header: header, payload: payload), "payload_invalid")
    }
  }()
}
