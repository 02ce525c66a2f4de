import JOSE
import JSON
import Testing

/// A token and the word with which it must be judged.
struct JudgedToken: Sendable, CustomTestStringConvertible {
  let name: String
  let token: [UInt8]
  let verdict: String

  init(_ name: String, _ token: String, _ verdict: String) {
    self.name = name
    self.token = Array(token.utf8)
    self.verdict = verdict
  }

  var testDescription: String { "\(name): \(verdict)" }
}

@Suite("Hostile tokens")
struct HostileTokenTests {
  @Test("A hostile form is refused with its reason", arguments: HostileForms.table)
  func form(_ token: JudgedToken) {
    #expect(TestTokens.verdict(token.token) == token.verdict)
  }

  @Test("A hostile header is refused with its reason", arguments: HostileHeaders.table)
  func header(_ token: JudgedToken) {
    #expect(TestTokens.verdict(token.token) == token.verdict)
  }

  @Test("A hostile claim, honestly signed, is refused with its reason", arguments: HostileClaims.table)
  func claim(_ token: JudgedToken) {
    #expect(TestTokens.verdict(token.token) == token.verdict)
  }

  @Test("The tables hold at least 150 refusals, and some tokens that are accepted")
  func tableSize() {
    let all = HostileForms.table + HostileHeaders.table + HostileClaims.table
    #expect(all.count { $0.verdict != "accepted" } >= 150)
    #expect(all.count { $0.verdict == "accepted" } >= 10)
    #expect(Dictionary(grouping: all, by: \.name).filter { $1.count > 1 }.keys.sorted() == [])
  }

  @Test("Every proper prefix of a valid token is refused", arguments: [TestTokens.rsa, TestTokens.p256])
  func everyPrefix(_ key: SigningKey) {
    let token = Array(TestTokens.token(key: key).utf8)
    #expect(TestTokens.verdict(token) == "accepted")
    for length in 0..<token.count {
      let verdict = TestTokens.verdict(token[..<length])
      #expect(["part_count", "part_empty", "base64_invalid", "signature_invalid"].contains(verdict), "\(length) bytes")
    }
  }

  @Test("B-04: every changed bit of a valid token is refused")
  func everyBit() {
    let token = Array(TestTokens.token().utf8)
    for position in token.indices {
      for bit in 0..<8 {
        var changed = token
        changed[position] ^= 1 << UInt8(bit)
        #expect(TestTokens.verdict(changed) != "accepted", "byte \(position), bit \(bit)")
      }
    }
  }
}

/// Damage to the compact form.
enum HostileForms {
  static let table: [JudgedToken] = {
    let valid = TestTokens.token(key: TestTokens.p256)
    let parts = valid.split(separator: ".").map(String.init)
    let (header, payload, signature) = (parts[0], parts[1], parts[2])
    var table: [JudgedToken] = [
      JudgedToken("a valid token", valid, "accepted"),
      JudgedToken("nothing", "", "part_count"),
      JudgedToken("one point", ".", "part_count"),
      JudgedToken("two points", "..", "part_empty"),
      JudgedToken("three points", "...", "part_count"),
      JudgedToken("no signature", "\(header).\(payload).", "part_empty"),
      JudgedToken("no signature, no point", "\(header).\(payload)", "part_count"),
      JudgedToken("no payload", "\(header)..\(signature)", "part_empty"),
      JudgedToken("no header", ".\(payload).\(signature)", "part_empty"),
      JudgedToken("four parts", "\(valid).\(signature)", "part_count"),
      JudgedToken(
        "five parts, as encrypted tokens have", "\(header).\(payload).\(signature).\(payload).\(signature)", "part_count"),
      JudgedToken("five parts, four empty", "\(header)....", "part_count"),
      JudgedToken(
        "an encrypted token", "\(Base64URL.encode(#"{"alg":"A256KW","enc":"A256GCM","kid":"ec-1"}"#.utf8)).AA.AA.AA.AA",
        "algorithm_not_allowed"),
      JudgedToken(
        "an unsecured token", "\(Base64URL.encode(#"{"alg":"none","kid":"ec-1"}"#.utf8)).\(payload).", "algorithm_not_allowed"),
      JudgedToken("an unsecured token, header alone", Base64URL.encode(#"{"alg":"none"}"#.utf8), "algorithm_not_allowed"),
      JudgedToken("a point behind", "\(valid).", "part_count"),
      JudgedToken("a point before", ".\(valid)", "part_count"),
      JudgedToken("Bearer before", "Bearer \(valid)", "base64_invalid"),
      JudgedToken("quotes around", "\"\(valid)\"", "base64_invalid"),
      JudgedToken("parts swapped", "\(payload).\(header).\(signature)", "algorithm_missing"),
      JudgedToken("JSON serialization", #"{"payload":"\#(payload)","signature":"\#(signature)"}"#, "part_count"),
      JudgedToken(
        "signature of zeros", "\(header).\(payload).\(Base64URL.encode([UInt8](repeating: 0, count: 64)))", "signature_invalid"),
      JudgedToken(
        "signature of ones", "\(header).\(payload).\(Base64URL.encode([UInt8](repeating: 255, count: 64)))", "signature_invalid"),
      JudgedToken("signature of one byte", "\(header).\(payload).AA", "signature_invalid"),
      JudgedToken("signature in hexadecimal", "\(header).\(payload).\(String(repeating: "0a", count: 64))", "signature_invalid"),
      JudgedToken(
        "header not UTF-8", "\(Base64URL.encode([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D])).\(payload).\(signature)",
        "header_invalid"),
      JudgedToken("64 KiB and a byte", String(repeating: "A", count: 65_537), "too_large"),
      JudgedToken("64 KiB of points", String(repeating: ".", count: 65_536), "part_count"),
      JudgedToken("a megabyte behind a valid token", valid + String(repeating: "A", count: 1 << 20), "too_large"),
    ]
    // The same three damages at the end of each part, and what may not stand anywhere.
    let bad = ["=", "==", "+", "/", " ", "\n", "\r\n", "\0", "%", "?", "é", "\u{212A}", "\t", ",", "~"]
    for (index, name) in ["header", "payload", "signature"].enumerated() {
      for text in bad {
        var damaged = parts
        damaged[index] += text
        let spelling = text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: "+")
        table.append(JudgedToken("\(name) with \(spelling) behind", damaged.joined(separator: "."), "base64_invalid"))
      }
      var inside = parts
      inside[index].insert(" ", at: inside[index].index(inside[index].startIndex, offsetBy: 4))
      table.append(JudgedToken("\(name) with a blank inside", inside.joined(separator: "."), "base64_invalid"))
      var whole = parts
      // One character more than a multiple of four stands for no number of bytes.
      whole[index] = String(repeating: "A", count: 21)
      table.append(JudgedToken("\(name) of an impossible length", whole.joined(separator: "."), "base64_invalid"))
      whole[index] = "AB"
      table.append(JudgedToken("\(name) with bits left over", whole.joined(separator: "."), "base64_invalid"))
    }
    return table
  }()
}

/// Headers that try to choose how they are judged.
enum HostileHeaders {
  static let table: [JudgedToken] = {
    let payload = JSONValue.object(TestTokens.claims).description
    func es(_ members: String, _ verdict: String) -> JudgedToken {
      JudgedToken("header \(members.prefix(70))", TestTokens.sign(header: members, payload: payload), verdict)
    }
    func named(_ name: String, _ header: String, _ verdict: String) -> JudgedToken {
      JudgedToken(name, TestTokens.sign(header: header, payload: payload), verdict)
    }
    var table = [
      es(#"{"alg":"ES256","kid":"ec-1"}"#, "accepted"),
      es(#"{"kid":"ec-1"}"#, "algorithm_missing"),
      es("{}", "algorithm_missing"),
      es(#"{"alg":"ES256"}"#, "kid_missing"),
      es(#"{"alg":"ES256","kid":null}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":""}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":7}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":["ec-1"]}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1\u0000"}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1\n"}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":"\u00e9c-1"}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":"EC-1"}"#, "key_unknown"),
      es(#"{"alg":"ES256","kid":"ec-1 "}"#, "key_unknown"),
      es(#"{"alg":"ES256","kid":"../../dev/null"}"#, "key_unknown"),
      es(#"{"alg":"ES256","kid":"' or 1=1 --"}"#, "key_unknown"),
      es(#"{"alg":"ES256","kid":"rsa-1"}"#, "key_not_allowed"),
      es(#"{"alg":"RS256","kid":"ec-1"}"#, "key_not_allowed"),
      es(#"{"alg":"RS256","kid":"rsa-1"}"#, "signature_invalid"),
      named("kid of 256 bytes", #"{"alg":"ES256","kid":"\#(String(repeating: "k", count: 256))"}"#, "key_unknown"),
      named("kid of 257 bytes", #"{"alg":"ES256","kid":"\#(String(repeating: "k", count: 257))"}"#, "kid_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1","crit":["exp"],"exp":1}"#, "critical_header"),
      es(#"{"alg":"ES256","kid":"ec-1","crit":[]}"#, "critical_header"),
      es(#"{"alg":"ES256","kid":"ec-1","crit":null}"#, "critical_header"),
      es(#"{"alg":"ES256","kid":"ec-1","b64":false,"crit":["b64"]}"#, "critical_header"),
      es(#"{"alg":"ES256","kid":"ec-1","b64":true}"#, "header_not_allowed"),
      es(#"{"alg":"ES256","kid":"ec-1","b64":false}"#, "header_not_allowed"),
      es(#"{"alg":"ES256","kid":"ec-1","zip":"DEF"}"#, "header_not_allowed"),
      es(#"{"alg":"ES256","kid":"ec-1","enc":"A128GCM"}"#, "header_not_allowed"),
      es(#"{"alg":"ES256","kid":"ec-1","jku":"https://evil.example/keys","x5u":"https://evil.example"}"#, "accepted"),
      es(#"{"alg":"ES256","kid":"ec-1","n":1e300}"#, "accepted"),
      es(#"{"alg":"ES256","kid":"ec-1","n":1e400}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1","n":NaN}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1","n":01}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1","kid":"ec-1"}"#, "header_invalid"),
      es(#"{"alg":"none","alg":"ES256","kid":"ec-1"}"#, "header_invalid"),
      es(#"{"alg":"ES256","\u0061lg":"none","kid":"ec-1"}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1",}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1"} x"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1"}{}"#, "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1""#, "header_invalid"),
      es("{'alg':'ES256','kid':'ec-1'}", "header_invalid"),
      es("\u{FEFF}{\"alg\":\"ES256\",\"kid\":\"ec-1\"}", "header_invalid"),
      es("{\"alg\":\"ES256\",\"kid\":\"ec-1\",\"x\":\"\n\"}", "header_invalid"),
      es(#"{"alg":"ES256","kid":"ec-1","x":"\ud800"}"#, "header_invalid"),
      es(#"["ES256","ec-1"]"#, "header_invalid"),
      es(#""ES256""#, "header_invalid"),
      es("null", "header_invalid"),
      es("7", "header_invalid"),
      named("header of blanks", "    ", "header_invalid"),
      named("header nested 32 deep", nested(31), "accepted"),
      named("header nested 33 deep", nested(32), "header_invalid"),
      named("header nested 10,000 deep", nested(10_000), "header_invalid"),
    ]
    let algorithms = [
      "none", "None", "NONE", "nOnE", "", "HS256", "HS384", "HS512", "RS384", "RS512", "PS256", "PS384", "PS512", "ES384",
      "ES512",
      "ES256K", "EdDSA", "es256", "Es256", "ES256 ", " ES256", "ES256\u{0}", "RSA1_5", "dir", "A128KW", "ES256,none",
      "E\u{17F}256",
    ]
    for algorithm in algorithms {
      let header = JSONValue.object(["alg": .string(algorithm), "kid": "ec-1"]).description
      table.append(JudgedToken("alg '\(algorithm)'", TestTokens.sign(header: header, payload: payload), "algorithm_not_allowed"))
    }
    for value in ["null", "0", "true", "[]", #"["ES256"]"#, #"{"ES256":1}"#] {
      table.append(es(#"{"alg":\#(value),"kid":"ec-1"}"#, "algorithm_not_allowed"))
    }
    table.append(confusedWithPublicKey(payload))
    table.append(ownKeyInHeader(payload))
    return table
  }()

  private static func nested(_ depth: Int) -> String {
    let brackets = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    return #"{"alg":"ES256","kid":"ec-1","x":\#(brackets)}"#
  }

  /// HS256 keyed with the public key's document, which everybody has.
  private static func confusedWithPublicKey(_ payload: String) -> JudgedToken {
    let input =
      Base64URL.encode(Array(#"{"alg":"HS256","kid":"rsa-1"}"#.utf8)) + "." + Base64URL.encode(Array(payload.utf8))
    let secret = JSONValue.object(TestTokens.rsa.publicKey.jwk).encoded()
    let code = HMACSHA256.authenticationCode(for: Array(input.utf8), key: secret)
    return JudgedToken("HS256 keyed with the public key", "\(input).\(Base64URL.encode(code))", "algorithm_not_allowed")
  }

  /// A token signed by the attacker's key, which travels in the header.
  private static func ownKeyInHeader(_ payload: String) -> JudgedToken {
    let header: JSONObject = ["alg": "ES256", "kid": "ec-1", "jwk": .object(TestTokens.otherP256.publicKey.jwk)]
    let token = TestTokens.sign(header: JSONValue.object(header).description, payload: payload, key: TestTokens.otherP256)
    return JudgedToken("a key in the header", token, "signature_invalid")
  }
}
