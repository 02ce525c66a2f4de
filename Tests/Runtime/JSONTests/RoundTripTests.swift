import JSON
import TestRandom
import Testing

@Suite("JSON there and back")
struct RoundTripTests {
  @Test("Random values survive being written and read, compact and pretty")
  func randomValues() throws {
    let seed = UInt64.random(in: .min ... .max)
    var generator = SeededRandom(seed)
    for round in 0..<400 {
      let value = randomValue(depth: 5, using: &generator)
      for isPretty in [false, true] {
        var writer = JSONWriter(isPretty: isPretty)
        writer.value(value)
        let read = try JSONParser.parse(writer.bytes)
        #expect(read == value, "seed \(seed), round \(round)")
        #expect(read.hashValue == value.hashValue, "seed \(seed), round \(round)")
      }
    }
  }

  @Test("Random bytes and damaged texts are read or refused, and never read past their end")
  func damagedTexts() {
    let seed = UInt64.random(in: .min ... .max)
    var generator = SeededRandom(seed)
    for round in 0..<3000 {
      var bytes = randomValue(depth: 4, using: &generator).encoded()
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        let position = Int.random(in: 0...bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes.insert(UInt8.random(in: .min ... .max, using: &generator), at: position)
        case 1: bytes.removeSubrange(position...)
        default: if position < bytes.count { bytes[position] ^= UInt8.random(in: 1...255, using: &generator) }
        }
      }
      // What is still a text must mean the same when written and read again.
      do throws(JSONError) {
        let value = try JSONParser.parse(bytes)
        #expect((try? JSONParser.parse(value.encoded())) == value, "seed \(seed), round \(round)")
      } catch {
        #expect((0...bytes.count).contains(error.offset), "seed \(seed), round \(round)")
      }
    }
  }

  @Test("Random doubles read back as the same bits")
  func randomDoubles() throws {
    let seed = UInt64.random(in: .min ... .max)
    var generator = SeededRandom(seed)
    for _ in 0..<5000 {
      let double = Double(bitPattern: generator.next())
      guard double.isFinite else { continue }
      var writer = JSONWriter()
      writer.double(double)
      let read = try JSONParser.parse(writer.bytes).number?.double
      #expect(read?.bitPattern == double.bitPattern, "seed \(seed), \(double)")
    }
  }

  private func randomValue(depth: Int, using generator: inout SeededRandom) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &generator) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &generator))
    case 2: return .number(JSONNumber(Int64(bitPattern: generator.next() >> UInt64.random(in: 0..<64, using: &generator))))
    case 3: return .number(JSONNumber(generator.next()))
    case 4: return .number(JSONNumber(Double.random(in: -1e9...1e9, using: &generator))!)
    case 5: return .string(randomString(using: &generator))
    case 6:
      return .array((0..<Int.random(in: 0...6, using: &generator)).map { _ in randomValue(depth: depth - 1, using: &generator) })
    default:
      var object = JSONObject()
      for _ in 0..<Int.random(in: 0...20, using: &generator) {
        object[randomString(using: &generator)] = randomValue(depth: depth - 2, using: &generator)
      }
      return .object(object)
    }
  }

  private func randomString(using generator: inout SeededRandom) -> String {
    var string = ""
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      let ceiling: UInt32 = [0x20, 0x7F, 0x800, 0x10000, 0x110000].randomElement(using: &generator)!
      string.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0..<ceiling, using: &generator)) ?? "\u{212A}")
    }
    return string
  }
}
