import JOSE
import Testing

@Suite("Sealed boxes")
struct SealedBoxTests {
  private static func text(_ byte: UInt8) -> String { Base64.encode([UInt8](repeating: byte, count: 32)) }
  private static let secret = Array("the private half".utf8)

  @Test("What is sealed opens with the same key and the same purpose, and shows nothing of itself")
  func roundTrip() throws {
    let keys = try SealingKeys(parsing: Self.text(1))
    for contents in [Self.secret, [], [UInt8](repeating: 7, count: 10_000)] {
      let box = try keys.seal(contents, for: "key a")
      #expect(try keys.open(SealedBox(bytes: box.bytes), for: "key a") == contents)
    }
    let box = try keys.seal(Self.secret, for: "key a")
    #expect(box.bytes.count == 2 + box.keyID.utf8.count + 12 + Self.secret.count + 16)
    #expect(try keys.seal(Self.secret, for: "key a") != box)
    #expect(!"\(keys) \(String(reflecting: keys))".contains(Self.text(1).prefix(10)))
  }

  @Test("No box opens that differs in any one bit")
  func flippedBits() throws {
    let keys = try SealingKeys(parsing: Self.text(1))
    let bytes = try keys.seal(Self.secret, for: "key a").bytes
    for bit in 0..<(bytes.count * 8) {
      var changed = bytes
      changed[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: SealingError.self, "bit \(bit)") { try keys.open(SealedBox(bytes: changed), for: "key a") }
    }
  }

  @Test("No box opens that is cut short, by as little as a byte")
  func prefixes() throws {
    let keys = try SealingKeys(parsing: Self.text(1))
    let bytes = try keys.seal(Self.secret, for: "key a").bytes
    for count in 0..<bytes.count {
      #expect(throws: SealingError.self) { try keys.open(SealedBox(bytes: Array(bytes.prefix(count))), for: "key a") }
    }
    #expect(throws: SealingError.self) { try keys.open(SealedBox(bytes: bytes + [0]), for: "key a") }
  }

  @Test("Another key of the same name, another purpose and an unknown name each have their own reason")
  func wrongKey() throws {
    let box = try SealingKeys(parsing: "old:\(Self.text(1))").seal(Self.secret, for: "key a")
    func code(_ keys: String, _ purpose: String = "key a") throws -> SealingError.Code? {
      let keys = try SealingKeys(parsing: keys)
      do { _ = try keys.open(box, for: purpose) } catch { return error.code }
      return nil
    }
    #expect(try code("old:\(Self.text(1))") == nil)
    #expect(try code("old:\(Self.text(2))") == .notAuthentic)
    #expect(try code("old:\(Self.text(1))", "key b") == .notAuthentic)
    #expect(try code("new:\(Self.text(1))") == .keyUnknown)
  }

  @Test("Of several keys the first seals and all open")
  func severalKeys() throws {
    let old = try SealingKeys(parsing: "old:\(Self.text(1))")
    let both = try SealingKeys(parsing: " new:\(Self.text(2)), old:\(Self.text(1))\n")
    #expect(both.sealingKeyID == "new")
    let former = try old.seal(Self.secret, for: "p")
    #expect(try both.open(former, for: "p") == Self.secret)
    let latter = try both.seal(Self.secret, for: "p")
    #expect(latter.keyID == "new")
    #expect(throws: SealingError.self) { try old.open(latter, for: "p") }
  }

  @Test("A key without a name keeps the name that follows from it")
  func digestName() throws {
    let one = try SealingKeys(parsing: Self.text(1))
    let two = try SealingKeys(parsing: "\(Self.text(2)),\(Self.text(1))")
    #expect(one.sealingKeyID.count == 8 && one.sealingKeyID != two.sealingKeyID)
    #expect(try two.open(one.seal(Self.secret, for: "p"), for: "p") == Self.secret)
  }

  @Test(
    "What is no list of keys is refused, and not repeated",
    arguments: [
      "", " , ", "planted", Base64.encode([UInt8](repeating: 1, count: 31)), Base64.encode([UInt8](repeating: 1, count: 33)),
      "Planted:\(SealedBoxTests.text(1))", ":\(SealedBoxTests.text(1))",
      "a:\(SealedBoxTests.text(1)),a:\(SealedBoxTests.text(2))",
      "\(String(repeating: "a", count: 33)):\(SealedBoxTests.text(1))", "a:b:\(SealedBoxTests.text(1))",
    ])
  func refusedKeys(text: String) {
    let error = #expect(throws: SealingError.self) { try SealingKeys(parsing: text) }
    #expect(error?.code == .keysInvalid && error?.description.lowercased().contains("planted") == false)
  }
}
