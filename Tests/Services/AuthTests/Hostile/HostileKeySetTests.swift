import JOSE
import JSON
import TestSupport
import Testing

/// A key set that a provider's server might answer, and what must become of it.
struct HostileKeySet: Sendable {
  let name: String
  let document: [UInt8]
  /// Why its bad key, or all of it, is not used.
  let reason: String
  /// Whether the good key in it is used all the same.
  let isUsed: Bool

  static let table: [HostileKeySet] = spoiltKeys + refusedWhole

  /// Sets of a good key between two bad ones.
  private static let spoiltKeys: [HostileKeySet] = {
    let good = JSONValue.object(FakeApple.key.publicKey.jwk)
    let rsa = FakeApple.nextKey.publicKey.jwk
    let curve = FakeApple.curveKey.publicKey.jwk
    let modulus = Base64URL.decode(rsa["n"]?.string ?? "") ?? []
    func changed(_ base: JSONObject, _ member: String, _ value: JSONValue?) -> JSONValue {
      var key = base
      key[member] = value
      return .object(key)
    }
    func bytes(_ bytes: [UInt8]) -> JSONValue { .string(Base64URL.encode(bytes)) }
    let keys: [(String, JSONValue, String)] = [
      ("a number", 7, "malformed"), ("null", .null, "malformed"), ("an empty object", [:], "malformed"),
      ("no kty", changed(rsa, "kty", nil), "malformed"), ("a kty of OKP", changed(rsa, "kty", "OKP"), "type_not_supported"),
      ("a shared secret", ["kty": "oct", "k": "c2VjcmV0", "kid": "s", "alg": "HS256"], "symmetric_key"),
      ("a private key", changed(rsa, "d", "AQAB"), "private_key"), ("no kid", changed(rsa, "kid", nil), "kid_missing"),
      ("an empty kid", changed(rsa, "kid", ""), "kid_invalid"),
      ("a kid with a line end", changed(rsa, "kid", "a\nb"), "kid_invalid"),
      ("RS512", changed(rsa, "alg", "RS512"), "algorithm_not_supported"),
      ("alg none", changed(rsa, "alg", "none"), "algorithm_not_supported"),
      ("for encryption", changed(rsa, "use", "enc"), "use_not_allowed"),
      ("to sign only", changed(rsa, "key_ops", ["sign"]), "use_not_allowed"),
      ("no modulus", changed(rsa, "n", nil), "number_invalid"),
      ("a padded exponent", changed(rsa, "e", "AQAB=="), "number_invalid"),
      ("1,024 bits", changed(rsa, "n", bytes(Array(modulus.prefix(128)))), "modulus_size"),
      ("16,384 bits", changed(rsa, "n", bytes([1] + [UInt8](repeating: 255, count: 2047))), "modulus_size"),
      ("an even modulus", changed(rsa, "n", bytes(modulus.dropLast() + [modulus[255] & 0xFE])), "modulus_even"),
      ("an exponent of 1", changed(rsa, "e", "AQ"), "exponent_invalid"),
      ("an even exponent", changed(rsa, "e", "Ag"), "exponent_invalid"),
      ("a point off the curve", changed(curve, "x", bytes([UInt8](repeating: 1, count: 32))), "key_refused"),
      ("another curve", changed(curve, "crv", "P-384"), "curve_not_supported"),
      ("a name that comes twice", changed(rsa, "kid", "twice"), "kid_duplicate"),
    ]
    return keys.map { name, key, reason in
      .init(name: name, document: (["keys": [key, good, key]] as JSONValue).encoded(), reason: reason, isUsed: true)
    }
  }()

  /// Documents that are no key set, or hold no key that may be used.
  private static let refusedWhole: [HostileKeySet] = {
    let good = JSONValue.object(FakeApple.key.publicKey.jwk).description
    let texts: [(String, String, String)] = [
      ("nothing", "", "key_set_not_json"), ("a web page", "<html>down</html>", "key_set_not_json"),
      ("half a document", #"{"keys":[\#(good)"#, "key_set_not_json"),
      ("keys twice", #"{"keys":[],"keys":[\#(good)]}"#, "key_set_not_json"),
      ("a byte-order mark", "\u{FEFF}{\"keys\":[\(good)]}", "key_set_not_json"),
      ("100,000 levels", #"{"keys":\#(String(repeating: "[", count: 100_000))"#, "key_set_not_json"),
      ("an array", "[\(good)]", "key_set_without_keys"), ("another name", #"{"Keys":[\#(good)]}"#, "key_set_without_keys"),
      ("keys that are an object", #"{"keys":{"0":\#(good)}}"#, "key_set_without_keys"),
      ("the word null", "null", "key_set_without_keys"),
      ("101 keys", #"{"keys":[\#([String](repeating: good, count: 101).joined(separator: ","))]}"#, "key_set_too_many_keys"),
      ("256 KiB and more", #"{"keys":[\#(good)]}"# + String(repeating: " ", count: 256 << 10), "key_set_too_large"),
      ("no keys", #"{"keys":[]}"#, "the key set has no usable key"),
      ("the same name twice", #"{"keys":[\#(good),\#(good)]}"#, "the key set has no usable key"),
    ]
    return texts.map { .init(name: $0, document: Array($1.utf8), reason: $2, isUsed: false) }
  }()
}

@Suite("Hostile key sets")
struct HostileKeySetTests {
  @Test("AUTH-M1, B-09: each hostile key set is judged for its own reason, and one bad key does not spoil the others")
  func judged() async throws {
    try await withLoops(1) { group in
      for hostile in HostileKeySet.table {
        let fixture = AppleFixture(group)
        fixture.apple.set { $0.document = hostile.document }
        #expect(await fixture.verdict(FakeApple.token()) == (hostile.isUsed ? "accepted" : "keys_unavailable"), "\(hostile.name)")
        let line = hostile.isUsed ? "key not used" : "keys not fetched"
        let lines = fixture.log.all.filter { $0.contains(line) }
        #expect(lines.count == (hostile.isUsed ? 2 : 1), "\(hostile.name): \(lines)")
        #expect(lines.allSatisfy { $0.contains(hostile.reason) }, "\(hostile.name): \(lines)")
        #expect(await fixture.verdict(FakeApple.token(key: FakeApple.nextKey)) != "accepted", "\(hostile.name)")
      }
    }
  }

  @Test(
    "B-09: a set that is refused whole leaves the keys from before in use",
    arguments: HostileKeySet.table.filter { !$0.isUsed }.map(\.name))
  func keepsTheOld(_ name: String) async throws {
    let hostile = try #require(HostileKeySet.table.first { $0.name == name })
    try await withLoops(1) { group in
      let fixture = AppleFixture(group)
      #expect(await fixture.verdict(FakeApple.token()) == "accepted")
      fixture.apple.set { $0.document = hostile.document }
      fixture.clock.advance(by: .seconds(3600))
      #expect(await fixture.verdict(FakeApple.token(at: fixture.clock.wall.components.seconds)) == "accepted")
      #expect(fixture.apple.keyFetches == 2)
      #expect(fixture.metric(#"parley_provider_overdue_keys_used_total{keys="apple"}"#) == "1")
    }
  }

  @Test("AUTH-M1: the table holds thirty hostile key sets and more, no two the same, and brings about every reason there is")
  func size() {
    #expect(HostileKeySet.table.count >= 30)
    #expect(Set(HostileKeySet.table.map(\.name)).count == HostileKeySet.table.count)
    #expect(Set(HostileKeySet.table.map(\.document)).count == HostileKeySet.table.count)
    // Of a key, then of the whole document.
    #expect(
      Set(HostileKeySet.table.map(\.reason)) == [
        "malformed", "kid_missing", "kid_invalid", "kid_duplicate", "symmetric_key", "private_key", "type_not_supported",
        "curve_not_supported", "algorithm_not_supported", "use_not_allowed", "number_invalid", "modulus_size", "modulus_even",
        "exponent_invalid", "key_refused", "key_set_not_json", "key_set_without_keys", "key_set_too_many_keys",
        "key_set_too_large", "the key set has no usable key",
      ])
  }
}
