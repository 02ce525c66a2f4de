import Testing

@testable import ClientCore

@Suite("SHA-256 without a system library")
struct SHA256Tests {
  @Test(
    "The examples of FIPS 180-4, and every length around a block's end",
    arguments: [
      ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
      (
        "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
      ),
    ])
  func examples(_ text: String, _ digest: String) {
    #expect(SHA256.hexadecimal(Array(text.utf8)) == digest)
  }

  @Test("A million times the letter a")
  func million() {
    #expect(
      SHA256.hexadecimal([UInt8](repeating: 0x61, count: 1_000_000))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }
}
