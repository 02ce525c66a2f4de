import JOSE
import Testing

@Suite("Encodings, digests and randomness")
struct EncodingTests {
  @Test(
    "Base64 and base64url are those of RFC 4648 section 10",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func vectors(_ text: String, _ encoded: String) {
    let bytes = Array(text.utf8)
    #expect(Base64.encode(bytes) == encoded)
    #expect(Base64.decode(encoded) == bytes)
    let bare = String(encoded.prefix { $0 != "=" })
    #expect(Base64URL.encode(bytes) == bare)
    #expect(Base64URL.decode(bare) == bytes)
    if bare != encoded {
      #expect(Base64.decode(bare) == nil)
      #expect(Base64URL.decode(encoded) == nil)
    }
  }

  @Test("The two alphabets differ in their last two characters and do not read each other's")
  func alphabets() {
    #expect(Base64.encode([0xFB, 0xFF, 0xBF]) == "+/+/")
    #expect(Base64URL.encode([0xFB, 0xFF, 0xBF]) == "-_-_")
    #expect(Base64.decode("-_-_") == nil)
    #expect(Base64URL.decode("+/+/") == nil)
  }

  @Test(
    "Padding stands at the end, at most twice, and nowhere else", arguments: ["=", "====", "Z===", "Zg=g", "=Zg=", "Zg==Zg=="])
  func padding(_ text: String) {
    #expect(Base64.decode(text) == nil)
  }

  @Test("Of all texts of two and three characters exactly the canonical ones are read")
  func canonical() {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    let pairs = alphabet.flatMap { a in alphabet.map { [a, $0] } }
    #expect(pairs.count { Base64URL.decode($0) != nil } == 256)
    let triples = pairs[..<640].flatMap { pair in alphabet.map { pair + [$0] } }
    #expect(triples.count { Base64URL.decode($0) != nil } == 640 * 16)
    for pair in pairs {
      if let bytes = Base64URL.decode(pair) { #expect(Base64URL.encode(bytes) == String(decoding: pair, as: UTF8.self)) }
    }
  }

  @Test("SHA-256 is that of FIPS 180-4")
  func sha256() {
    #expect(hexadecimal(SHA256.digest("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(hexadecimal(SHA256.digest([])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
  }

  @Test("HMAC with SHA-256 is that of RFC 4231, and an empty key is a key")
  func hmac() {
    let code = HMACSHA256.authenticationCode(for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(hexadecimal(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    let empty = HMACSHA256.authenticationCode(for: [], key: [])
    #expect(hexadecimal(empty) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    #expect(HMACSHA256.isValid(empty, for: [], key: []))
    #expect(!HMACSHA256.isValid(empty, for: [0], key: []))
    #expect(!HMACSHA256.isValid(Array(empty.dropLast()), for: [], key: []))
  }

  @Test("Random bytes come in any number and do not repeat", arguments: [0, 1, 7, 8, 9, 32])
  func random(_ count: Int) {
    #expect(SecureRandom.bytes(count).count == count)
    if count >= 8 { #expect(SecureRandom.bytes(count) != SecureRandom.bytes(count)) }
  }

  @Test("Comparison in constant time compares all")
  func constantTime() {
    #expect(ConstantTime.areEqual([], []))
    #expect(ConstantTime.areEqual("secret", "secret"))
    #expect(!ConstantTime.areEqual("secret", "secreT"))
    #expect(!ConstantTime.areEqual("secret", "secret "))
    #expect(!ConstantTime.areEqual("K", "\u{212A}"))
  }

  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
