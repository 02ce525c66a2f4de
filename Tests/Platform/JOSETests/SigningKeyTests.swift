import JOSE
import JSON
import Testing

@Suite("Signing keys")
struct SigningKeyTests {
  @Test("A key survives its PEM, under the same thumbprint", arguments: [TestTokens.rsa, TestTokens.p256])
  func pemRoundTrip(_ key: SigningKey) throws {
    let pem = try key.privatePEM()
    #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    #expect(pem.hasSuffix("-----END PRIVATE KEY-----\n"))
    let read = try SigningKey(pem: pem, keyID: key.keyID)
    #expect(read.publicKey.jwk == key.publicKey.jwk)
    #expect(read.algorithm == key.algorithm)
    #expect(TestTokens.verdict(TestTokens.token(key: read).utf8) == "accepted")
    #expect(try SigningKey(pem: pem).keyID == key.publicKey.thumbprint)
  }

  @Test("PKCS#8, PKCS#1 and SEC 1 are read, as openssl writes them", arguments: PEMSamples.readable)
  func samples(_ sample: PEMSamples.Sample) throws {
    let key = try SigningKey(pem: sample.pem, keyID: "sample")
    #expect(key.algorithm.rawValue == sample.verdict)
    let keys = JWKSet([key.publicKey])
    #expect(TestTokens.verdict(TestTokens.token(key: key).utf8, keys: keys) == "accepted")
  }

  @Test("A text that holds no key of ours is refused with its reason", arguments: PEMSamples.unreadable)
  func refusals(_ sample: PEMSamples.Sample) throws {
    let error = try #require(throws: KeyError.self) { try SigningKey(pem: sample.pem, keyID: "sample") }
    #expect(error.code.description == sample.verdict)
  }

  @Test("A name must be 1 to 256 printable characters", arguments: ["", "a\n", "é", String(repeating: "k", count: 257)])
  func keyID(_ name: String) {
    #expect(throws: KeyError(code: .keyIDInvalid)) { try SigningKey.generate(.es256, keyID: name) }
  }

  @Test("Generated keys are RSA of 2,048 bits and P-256, and never the same twice")
  func generated() throws {
    let modulus = Base64URL.decode(try #require(TestTokens.rsa.publicKey.jwk["n"]?.string))
    #expect(modulus?.count == 256)
    #expect(TestTokens.rsa.publicKey.jwk["e"] == "AQAB")
    let first = try SigningKey.generate(.es256)
    let second = try SigningKey.generate(.es256)
    #expect(first.keyID != second.keyID)
    #expect(first.keyID == first.publicKey.thumbprint)
    #expect(first.publicKey.jwk["crv"] == "P-256")
  }

  @Test("The thumbprint is the one of RFC 7638 section 3.1")
  func thumbprint() throws {
    let modulus =
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn6"
      + "4tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91Cb"
      + "OpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
    let key = try VerificationKey(jwk: ["kty": "RSA", "n": .string(modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"])
    #expect(key.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
  }

  @Test("The header is the key's, whatever it is asked to say")
  func header() throws {
    let token = try TestTokens.p256.sign(header: ["alg": "none", "kid": "x", "typ": "at+jwt"], claims: TestTokens.claims)
    let verified = try TokenVerifier.verify(
      Array(token.utf8), keys: TestTokens.keys, policy: TestTokens.policy, now: TestTokens.now)
    #expect(verified.header == ["alg": "ES256", "typ": "at+jwt", "kid": "ec-1"])
  }

  @Test("P-256 signatures are always 64 bytes, however short their numbers")
  func signatureLength() throws {
    // One signature in 128 has a number with a leading zero byte; 600 miss them all once in a hundred runs, harmlessly.
    for index in 0..<600 {
      let message = Array("message \(index)".utf8)
      let signature = try TestTokens.p256.signature(of: message)
      #expect(signature.count == 64)
      #expect(TestTokens.p256.publicKey.isValidSignature(signature, of: message))
    }
  }

  @Test("Printing a key shows its name and no number")
  func secrecy() throws {
    let secret = try TestTokens.p256.privatePEM().split(separator: "\n")[1]
    for text in [
      "\(TestTokens.p256)", String(reflecting: TestTokens.p256), String(describing: Mirror(reflecting: TestTokens.p256)),
    ] {
      #expect(!text.contains(secret))
    }
    #expect("\(TestTokens.p256)" == "ES256 key ec-1")
  }

  @Test("One key signs and checks on many tasks at once")
  func concurrency() async throws {
    let verdicts = await withTaskGroup(of: String.self) { group in
      for index in 0..<64 {
        group.addTask { TestTokens.verdict(TestTokens.token(key: index % 2 == 0 ? TestTokens.rsa : TestTokens.p256).utf8) }
      }
      return await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(verdicts == ["accepted"])
  }
}
