import JOSE
import JSON
import Testing

/// A key and the reason for which it must be dropped.
struct HostileKey: Sendable, CustomTestStringConvertible {
  let name: String
  let key: JSONValue
  let reason: String

  var testDescription: String { "\(name): \(reason)" }

  /// The keys are good but for one change.
  static let table: [HostileKey] = {
    let rsa = TestTokens.rsa.publicKey.jwk
    let p256 = TestTokens.p256.publicKey.jwk
    var table: [HostileKey] = []
    func add(_ base: JSONObject, _ name: String, _ value: JSONValue?, _ reason: String) {
      var key = base
      key["kid"] = "hostile"
      key[name] = value
      let spelling = value.map { "\($0.description.prefix(24))…\($0.description.count)…\($0.description.suffix(8))" } ?? "absent"
      table.append(HostileKey(name: "\(base["kty"]!) \(name) \(spelling)", key: .object(key), reason: reason))
    }
    func numbers(_ name: String, _ bytes: [UInt8], _ reason: String) {
      add(rsa, name, .string(Base64URL.encode(bytes)), reason)
    }
    let modulus = Base64URL.decode(rsa["n"]!.string!)!
    let x = Base64URL.decode(p256["x"]!.string!)!

    for value in [JSONValue.null, 1, "text", true, []] {
      table.append(HostileKey(name: "\(value)", key: value, reason: "malformed"))
    }
    table.append(HostileKey(name: "{}", key: [:], reason: "malformed"))
    add(rsa, "kty", nil, "malformed")
    add(rsa, "kty", 7, "malformed")
    add(rsa, "kty", "rsa", "type_not_supported")
    add(rsa, "kty", "OKP", "type_not_supported")
    add(rsa, "kty", "oct", "symmetric_key")
    table.append(HostileKey(name: "a shared secret", key: ["kty": "oct", "k": "c2VjcmV0", "kid": "s"], reason: "symmetric_key"))
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] { add(rsa, name, "AQAB", "private_key") }
    add(p256, "d", "AQAB", "private_key")
    add(rsa, "kid", nil, "kid_missing")
    add(rsa, "kid", "", "kid_invalid")
    add(rsa, "kid", 1, "kid_invalid")
    add(rsa, "kid", "\u{212A}", "kid_invalid")
    add(rsa, "kid", .string(String(repeating: "k", count: 257)), "kid_invalid")
    for name in ["RS384", "PS256", "HS256", "none", "ES256", "rs256", ""] {
      add(rsa, "alg", .string(name), "algorithm_not_supported")
    }
    add(rsa, "alg", 1, "malformed")
    add(p256, "alg", "RS256", "algorithm_not_supported")
    add(rsa, "use", "enc", "use_not_allowed")
    add(rsa, "use", "", "use_not_allowed")
    add(rsa, "use", ["sig"], "malformed")
    add(rsa, "key_ops", ["encrypt"], "use_not_allowed")
    add(rsa, "key_ops", [], "use_not_allowed")
    add(rsa, "key_ops", "verify", "malformed")
    add(rsa, "key_ops", ["verify", "verify"], "malformed")
    add(rsa, "key_ops", ["verify", 1], "malformed")
    for name in ["n", "e"] {
      add(rsa, name, nil, "number_invalid")
      add(rsa, name, 65537, "number_invalid")
      add(rsa, name, "", "number_invalid")
      add(rsa, name, "AQAB=", "number_invalid")
      add(rsa, name, "AQ+B", "number_invalid")
      add(rsa, name, "AAAB", "number_invalid")
    }
    numbers("n", [0x7F] + modulus.dropFirst(), "modulus_size")  // 2,047 bits
    numbers("n", Array(modulus[..<128]), "modulus_size")
    numbers("n", [1] + [UInt8](repeating: 0xFF, count: 1024), "modulus_size")  // 8,193 bits
    numbers("n", [0] + modulus, "number_invalid")
    numbers("n", modulus.dropLast() + [modulus.last! & 0xFE], "modulus_even")
    numbers("e", [1], "exponent_invalid")
    numbers("e", [2], "exponent_invalid")
    numbers("e", [1, 0, 0], "exponent_invalid")
    numbers("e", [UInt8](repeating: 0xFF, count: 9), "exponent_invalid")
    add(p256, "crv", nil, "malformed")
    for curve in ["P-384", "P-521", "secp256k1", "p-256", "Ed25519"] { add(p256, "crv", .string(curve), "curve_not_supported") }
    for name in ["x", "y"] {
      add(p256, name, nil, "number_invalid")
      add(p256, name, .string(Base64URL.encode(x.dropLast())), "number_invalid")
      add(p256, name, .string(Base64URL.encode(x + [0])), "number_invalid")
      add(p256, name, .string(Base64URL.encode([UInt8](repeating: 0, count: 32))), "key_refused")
      add(p256, name, .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 32))), "key_refused")
    }
    return table
  }()
}

@Suite("Key sets")
struct KeySetTests {
  func set(_ keys: [JSONValue]) throws -> JWKSet { try JWKSet(parsing: JSONValue.object(["keys": .array(keys)]).encoded()) }

  var good: JSONValue { .object(TestTokens.p256.publicKey.jwk) }

  @Test("A bad key is dropped with its reason and does not spoil its neighbours", arguments: HostileKey.table)
  func badKey(_ hostile: HostileKey) throws {
    let set = try set([hostile.key, good, hostile.key])
    #expect(set.keys.map(\.keyID) == ["ec-1"])
    #expect(set.rejections.map(\.reason.description) == [hostile.reason, hostile.reason])
    #expect(set.rejections.map(\.index) == [0, 2])
    #expect(TestTokens.verdict(TestTokens.token().utf8, keys: set) == "accepted")
    #expect(set["hostile"] == nil)
  }

  @Test("The table of bad keys holds at least thirty, each named once")
  func tableSize() {
    #expect(HostileKey.table.count >= 30)
    #expect(Dictionary(grouping: HostileKey.table, by: \.name).filter { $1.count > 1 }.keys.sorted() == [])
  }

  @Test(
    "A document that is no key set is refused whole",
    arguments: [
      ("", "key_set_not_json"), ("<html>", "key_set_not_json"), ("{\"keys\":[]", "key_set_not_json"),
      ("{\"keys\":[],\"keys\":[]}", "key_set_not_json"), ("\u{FEFF}{\"keys\":[]}", "key_set_not_json"),
      ("{\"keys\":[],}", "key_set_not_json"), ("{\"keys\":[],\"x\":1e999}", "key_set_not_json"),
      ("{\"keys\":\(String(repeating: "[", count: 100_000))", "key_set_not_json"),
      ("{}", "key_set_without_keys"), ("[]", "key_set_without_keys"), ("null", "key_set_without_keys"),
      ("{\"keys\":{}}", "key_set_without_keys"), ("{\"keys\":null}", "key_set_without_keys"),
      ("{\"Keys\":[]}", "key_set_without_keys"),
      ("{\"keys\":[\((0...100).map(String.init).joined(separator: ","))]}", "key_set_too_many_keys"),
      ("{\"keys\":[]}" + String(repeating: " ", count: 256 << 10), "key_set_too_large"),
    ])
  func document(_ text: String, _ code: String) throws {
    let error = try #require(throws: JWKSetError.self) { try JWKSet(parsing: Array(text.utf8)) }
    #expect(error.code.description == code)
  }

  @Test("Documents at the limits are read: 100 keys, 256 KiB, none at all")
  func limits() throws {
    let hundred = try set([good] + [JSONValue](repeating: 0, count: 99))
    #expect(hundred.keys.count == 1)
    #expect(hundred.rejections.count == 99)
    let padded = JSONValue.object(["keys": [good]]).encoded()
    let spaces = [UInt8](repeating: 0x20, count: JWKSet.maximumByteCount - padded.count)
    #expect(try JWKSet(parsing: padded + spaces).keys.count == 1)
    #expect(try set([]).isEmpty)
  }

  @Test("Of keys with one name none is used, unless all but one are unusable")
  func duplicateNames() throws {
    var other = TestTokens.otherP256.publicKey.jwk
    #expect(other["kid"] == "ec-1")
    let ambiguous = try set([good, .object(other), .object(TestTokens.rsa.publicKey.jwk)])
    #expect(ambiguous.keys.map(\.keyID) == ["rsa-1"])
    #expect(ambiguous.rejections.map(\.reason) == [.keyIDDuplicate, .keyIDDuplicate])
    #expect(TestTokens.verdict(TestTokens.token().utf8, keys: ambiguous) == "key_unknown")
    other["use"] = "enc"
    let clear = try set([.object(other), good])
    #expect(TestTokens.verdict(TestTokens.token().utf8, keys: clear) == "accepted")
    #expect(JWKSet([TestTokens.p256.publicKey, TestTokens.otherP256.publicKey]).isEmpty)
  }

  @Test("A withdrawn key's tokens are refused by the next set, even if it was the first")
  func withdrawnKey() throws {
    let token = TestTokens.token(key: TestTokens.rsa)
    let both = try set([.object(TestTokens.rsa.publicKey.jwk), good])
    #expect(TestTokens.verdict(token.utf8, keys: both) == "accepted")
    #expect(TestTokens.verdict(token.utf8, keys: try set([good])) == "key_unknown")
    #expect(TestTokens.verdict(token.utf8, keys: try set([])) == "key_unknown")
    #expect(TestTokens.verdict(token.utf8, keys: both) == "accepted")
  }

  @Test(
    "A key without alg keeps the algorithm of its kind after a garbage token", arguments: ["RS256", "ES256", "HS256", "none"])
  func keyWithoutAlgorithm(_ algorithm: String) throws {
    var bare = TestTokens.rsa.publicKey.jwk
    for name in ["alg", "use"] { bare[name] = nil }
    let set = try set([.object(bare)])
    let header = JSONValue.object(["alg": .string(algorithm), "kid": "rsa-1"]).description
    let garbage = TestTokens.sign(header: header, payload: "garbage", key: TestTokens.p256)
    #expect(TestTokens.verdict(garbage.utf8, keys: set) != "accepted")
    #expect(TestTokens.verdict(TestTokens.token(key: TestTokens.rsa).utf8, keys: set) == "accepted")
    let confused = TestTokens.sign(
      header: #"{"alg":"ES256","kid":"rsa-1"}"#, payload: JSONValue.object(TestTokens.claims).description)
    #expect(TestTokens.verdict(confused.utf8, keys: set) == "key_not_allowed")
  }

  @Test("Members that do not concern the key are ignored, and key_ops with verify is enough")
  func furtherMembers() throws {
    var key = TestTokens.p256.publicKey.jwk
    key["use"] = nil
    key["alg"] = nil
    key["key_ops"] = ["sign", "verify"]
    key["x5c"] = ["MIIB"]
    key["issuer"] = "x"
    #expect(TestTokens.verdict(TestTokens.token().utf8, keys: try set([.object(key)])) == "accepted")
  }

  @Test("A published set reads back whole")
  func publishing() throws {
    let set = try JWKSet(parsing: TestTokens.keys.encoded())
    #expect(set.keys.map(\.jwk) == [TestTokens.rsa.publicKey.jwk, TestTokens.p256.publicKey.jwk])
    #expect(set.rejections.isEmpty)
  }
}
