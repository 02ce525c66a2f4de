import ArgumentParser

/// Takes text as it comes and gives JSON documents as they become whole: one after the other, with or without white space between.
///
/// It only finds where a document ends; whether it is JSON is for its reader to say.
struct JSONDocuments {
  /// The longest document, in bytes.
  static let limit = 64 << 20

  private var buffer: [UInt8] = []
  /// Where the document begins that is being looked at.
  private var start = 0
  /// How far it has been looked at.
  private var cursor = 0
  private var depth = 0
  private var isInString = false
  private var isEscaped = false

  /// All documents of a text that is there as a whole.
  static func all(in text: [UInt8]) throws -> [[UInt8]] {
    var documents = JSONDocuments()
    documents.append(text)
    var found: [[UInt8]] = []
    while let document = try documents.next() { found.append(document) }
    if let last = try documents.rest() { found.append(last) }
    return found
  }

  /// Adds what has come.
  mutating func append(_ bytes: some Collection<UInt8>) {
    if start > 0 {
      buffer.removeFirst(start)
      cursor -= start
      start = 0
    }
    buffer += bytes
  }

  /// The next document that is whole, or nil.
  mutating func next() throws -> [UInt8]? {
    while cursor < buffer.count {
      let byte = buffer[cursor]
      cursor += 1
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
          if depth == 0 { return take() }
        }
        continue
      }
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n"):
        guard depth == 0 else { continue }
        // Between documents, or behind one that is a bare number or word.
        if cursor - 1 > start {
          cursor -= 1
          return take()
        }
        start = cursor
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth = max(0, depth - 1)
        if depth == 0 { return take() }
      default: break
      }
    }
    guard cursor - start <= Self.limit else { throw ValidationError("A request has more than \(Self.limit >> 20) MiB.") }
    return nil
  }

  /// What is left once nothing more comes: a bare number or word, or a document that is cut off.
  mutating func rest() throws -> [UInt8]? {
    if let document = try next() { return document }
    return cursor > start ? take() : nil
  }

  private mutating func take() -> [UInt8] {
    defer { (start, depth, isInString, isEscaped) = (cursor, 0, false, false) }
    return Array(buffer[start..<cursor])
  }
}
