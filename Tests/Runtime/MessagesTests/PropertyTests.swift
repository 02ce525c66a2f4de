import MessagesCore
import MessagesWire
import TestAPI
import TestRandom
import Testing
import WellKnown

@Suite("Properties that hold for random messages")
struct PropertyTests {
  /// A new seed for each run; the message of a failure gives it.
  static let seed = UInt64.random(in: .min ... .max)

  @Test("Whatever a message holds comes back from wire and JSON")
  func roundTrips() throws {
    var generator = SeededRandom(Self.seed)
    for round in 0..<200 {
      let message = Everything.random(using: &generator)
      let wire = try Everything(protobuf: message.protobufBytes())
      let json = try Everything(jsonString: message.jsonString())
      guard wire == message, json == message else {
        Issue.record("seed \(Self.seed), round \(round)")
        return
      }
    }
  }

  @Test("Random damage to valid bytes is read or refused, and what is read survives a round trip")
  func damage() throws {
    var generator = SeededRandom(Self.seed)
    let decoder = MessageDecoder()
    var refused = 0
    for round in 0..<2000 {
      var bytes = try Everything.random(using: &generator).protobufBytes()
      for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
        let place = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
        default: bytes.removeLast(min(bytes.count, place))
        }
      }
      let message: Everything
      do {
        message = try bytes.withUnsafeBytes { try decoder.decode(Everything.self, from: $0) }
      } catch {
        refused += 1
        continue
      }
      let again = try Everything(protobuf: message.protobufBytes())
      // NaN differs from itself, so what is written is compared by size.
      let (first, second) = try (message.protobufBytes().count, again.protobufBytes().count)
      guard first == second else {
        Issue.record("seed \(Self.seed), round \(round)")
        return
      }
    }
    #expect(refused > 0 && refused < 2000, "seed \(Self.seed)")
  }
}

extension Everything {
  static func random(using generator: inout SeededRandom) -> Everything {
    func maybe() -> Bool { Bool.random(using: &generator) }
    func text() -> String {
      let scalars = ["", "a", "é", "😀", "\u{0}", "\"", "\\", "\n", "zzzzzzzzzzzzzzzzzzzz"]
      return (0..<Int.random(in: 0...4, using: &generator)).map { _ in scalars.randomElement(using: &generator) ?? "" }.joined()
    }
    func bytes() -> Bytes {
      Bytes((0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) })
    }
    func int() -> Int64 { Int64(bitPattern: generator.next()) >> Int64.random(in: 0...63, using: &generator) }
    func int32() -> Int32 { Int32(truncatingIfNeeded: int()) }
    func inner() -> Inner { Inner(number: int32(), maybe: maybe() ? int32() : nil, text: text()) }
    func list<Element>(_ make: () -> Element) -> [Element] { (0..<Int.random(in: 0...3, using: &generator)).map { _ in make() } }
    var message = Everything()
    if maybe() { message.int32Value = int32() }
    if maybe() { message.int64Value = int() }
    if maybe() { message.uint64Value = generator.next() }
    if maybe() { message.sint32Value = int32() }
    if maybe() { message.sfixed64Value = int() }
    if maybe() { message.doubleValue = Double(int()) / 8 }
    if maybe() { message.floatValue = Float(int32()) / 8 }
    if maybe() { message.stringValue = text() }
    if maybe() { message.bytesValue = bytes() }
    if maybe() { message.inner = inner() }
    if maybe() { message.optionalString = text() }
    if maybe() { message.optionalUint64 = generator.next() }
    message.int32Values = list(int32)
    message.sint64Values = list(int)
    message.boolValues = list(maybe)
    message.moods = list { [.glad, .sad, .unrecognized(int32() | 2)].randomElement(using: &generator) ?? .glad }
    message.stringValues = list(text)
    message.bytesValues = list(bytes)
    message.inners = list(inner)
    for _ in 0..<Int.random(in: 0...3, using: &generator) {
      message.textByText[text()] = text()
      message.innerByNumber[int()] = inner()
      message.bytesByText[text()] = bytes()
    }
    message.choice =
      [nil, .choiceInt32(int32()), .choiceString(text()), .choiceBytes(bytes()), .choiceInner(inner())]
      .randomElement(using: &generator) ?? nil
    if maybe() { message.far = text() }
    return message
  }
}
