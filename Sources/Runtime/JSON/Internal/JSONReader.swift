/// The recursive descent behind ``JSONParser``: one pass over the bytes, with the nesting counted before each descent.
struct JSONReader {
  let bytes: UnsafeRawBufferPointer
  let options: JSONParser.Options
  var offset = 0
  private var depth = 0
  private let maximumDepth: Int

  init(bytes: UnsafeRawBufferPointer, options: JSONParser.Options) {
    self.bytes = bytes
    self.options = options
    maximumDepth = min(options.maximumDepth, JSONParser.Options.depthCeiling)
  }

  mutating func readText() throws(JSONError) -> JSONValue {
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
      throw error(.syntax, "the text begins with a byte-order mark")
    }
    skipWhiteSpace()
    let value = try readValue()
    skipWhiteSpace()
    guard offset == bytes.count else { throw error(.trailingBytes, "the value is followed by more text") }
    return value
  }

  private mutating func readValue() throws(JSONError) -> JSONValue {
    switch try currentByte() {
    case UInt8(ascii: "\""): return .string(try readString())
    case UInt8(ascii: "{"): return .object(try readObject())
    case UInt8(ascii: "["): return .array(try readArray())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try readNumber())
    case UInt8(ascii: "t"):
      try readWord("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try readWord("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try readWord("null")
      return .null
    case UInt8(ascii: "N"), UInt8(ascii: "I"), UInt8(ascii: "+"), UInt8(ascii: "."):
      throw error(.invalidNumber, "a number must begin with a digit or a minus sign")
    default: throw error(.syntax, "a value was expected")
    }
  }

  private mutating func readObject() throws(JSONError) -> JSONObject {
    try enter()
    var object = JSONObject()
    if try currentByte() == UInt8(ascii: "}") {
      leave()
      return object
    }
    while true {
      let nameOffset = offset
      guard try currentByte() == UInt8(ascii: "\"") else { throw error(.syntax, "a member's name was expected") }
      let name = try readString()
      skipWhiteSpace()
      guard try currentByte() == UInt8(ascii: ":") else { throw error(.syntax, "a colon was expected") }
      offset += 1
      skipWhiteSpace()
      let value = try readValue()
      switch options.duplicateNames {
      case .lastWins: object[name] = value
      case .refused:
        guard object.appendIfNew(name, value) else {
          throw JSONError(code: .duplicateName, offset: nameOffset, message: "an object has two members of one name")
        }
      }
      if try readSeparator(end: UInt8(ascii: "}")) { return object }
    }
  }

  private mutating func readArray() throws(JSONError) -> [JSONValue] {
    try enter()
    var elements: [JSONValue] = []
    if try currentByte() == UInt8(ascii: "]") {
      leave()
      return elements
    }
    while true {
      elements.append(try readValue())
      if try readSeparator(end: UInt8(ascii: "]")) { return elements }
    }
  }

  /// Steps over the comma or the closing bracket behind an element; true if it was the bracket.
  private mutating func readSeparator(end: UInt8) throws(JSONError) -> Bool {
    skipWhiteSpace()
    let byte = try currentByte()
    if byte == end {
      leave()
      return true
    }
    guard byte == UInt8(ascii: ",") else { throw error(.syntax, "a comma or a closing bracket was expected") }
    offset += 1
    skipWhiteSpace()
    return false
  }

  private mutating func enter() throws(JSONError) {
    guard depth < maximumDepth else { throw error(.tooDeep, "nested deeper than \(maximumDepth) levels") }
    depth += 1
    offset += 1
    skipWhiteSpace()
  }

  private mutating func leave() {
    depth -= 1
    offset += 1
  }

  private mutating func readWord(_ word: StaticString) throws(JSONError) {
    for index in 0..<word.utf8CodeUnitCount {
      guard try currentByte() == word.utf8Start[index] else { throw error(.syntax, "a value was expected") }
      offset += 1
    }
  }

  private mutating func readNumber() throws(JSONError) -> JSONNumber {
    let start = offset
    var mayBeInfinite = false
    if bytes[offset] == UInt8(ascii: "-") { offset += 1 }
    if try currentByte() == UInt8(ascii: "0") {
      offset += 1
      if isDigit { throw error(.invalidNumber, "a number must not begin with a superfluous zero") }
    } else {
      try readDigits()
      mayBeInfinite = offset - start > 300
    }
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      offset += 1
      try readDigits()
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if offset < bytes.count, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") { offset += 1 }
      try readDigits()
      mayBeInfinite = true
    }
    let number = JSONNumber(judged: String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<offset]), as: UTF8.self))
    if options.requiresFiniteNumbers, mayBeInfinite, number.double == nil {
      throw JSONError(code: .numberNotFinite, offset: start, message: "a number is too large")
    }
    return number
  }

  private var isDigit: Bool {
    offset < bytes.count && bytes[offset] >= UInt8(ascii: "0") && bytes[offset] <= UInt8(ascii: "9")
  }

  private mutating func readDigits() throws(JSONError) {
    _ = try currentByte()
    guard isDigit else { throw error(.invalidNumber, "a digit was expected") }
    repeat { offset += 1 } while isDigit
  }

  private mutating func skipWhiteSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  func currentByte() throws(JSONError) -> UInt8 {
    guard offset < bytes.count else { throw error(.unexpectedEnd, "the text ends inside a value") }
    return bytes[offset]
  }

  func error(_ code: JSONError.Code, _ message: String) -> JSONError {
    JSONError(code: code, offset: offset, message: message)
  }
}
