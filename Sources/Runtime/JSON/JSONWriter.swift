/// Appends JSON text to a byte array, value by value, without building a ``JSONValue`` first.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.beginObject()
/// writer.name("level")
/// writer.string("info")
/// writer.endObject()
/// socket.send(writer.bytes)
/// ```
/// Commas, colons and indentation are the writer's work; that each name is followed by one value, and that what is begun is
/// ended, is the caller's (checked in debug builds). One writer can write several texts: call ``endLine()`` between them.
public struct JSONWriter: Sendable {
  /// What has been written so far.
  public internal(set) var bytes: [UInt8]

  /// Whether to indent by two spaces and put each member and element on its own line.
  public let isPretty: Bool

  private var depth = 0
  private var needsComma = false
  private var isBehindName = false

  /// A writer that appends to the given bytes; hand over a buffer with capacity to write without allocating.
  public init(appendingTo bytes: consuming [UInt8] = [], isPretty: Bool = false) {
    self.bytes = bytes
    self.isPretty = isPretty
  }

  /// Begins an object.
  public mutating func beginObject() { begin(UInt8(ascii: "{")) }

  /// Ends the innermost object.
  public mutating func endObject() { end(UInt8(ascii: "}")) }

  /// Begins an array.
  public mutating func beginArray() { begin(UInt8(ascii: "[")) }

  /// Ends the innermost array.
  public mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Writes a member's name; its value must follow. Names are not checked for being distinct.
  public mutating func name(_ name: String) {
    assert(!isBehindName && depth > 0, "a name belongs into an object, behind a finished value")
    prepareForElement()
    appendQuoted(name)
    bytes.append(UInt8(ascii: ":"))
    if isPretty { bytes.append(UInt8(ascii: " ")) }
    isBehindName = true
  }

  /// Writes a whole value.
  public mutating func value(_ value: JSONValue) {
    switch value {
    case .null: null()
    case .bool(let value): bool(value)
    case .number(let value): number(value)
    case .string(let value): string(value)
    case .array(let elements):
      beginArray()
      for element in elements { self.value(element) }
      endArray()
    case .object(let object): self.object(object)
    }
  }

  /// Writes a whole object.
  public mutating func object(_ object: JSONObject) {
    beginObject()
    for member in object.members {
      name(member.name)
      value(member.value)
    }
    endObject()
  }

  /// Writes text that is already one JSON value, as it is.
  public mutating func verbatim(_ text: some Sequence<UInt8>) {
    prepareForElement()
    bytes.append(contentsOf: text)
    needsComma = true
  }

  /// Ends one text with a line feed and begins another.
  public mutating func endLine() {
    assert(depth == 0 && !isBehindName, "the text is not finished")
    bytes.append(0x0A)
    needsComma = false
  }

  /// Forgets what was written and keeps the memory.
  public mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    (depth, needsComma, isBehindName) = (0, false, false)
  }

  private mutating func begin(_ bracket: UInt8) {
    prepareForElement()
    bytes.append(bracket)
    depth += 1
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    assert(depth > 0 && !isBehindName, "nothing to end, or a name without a value")
    depth -= 1
    if needsComma { breakLine() }
    bytes.append(bracket)
    needsComma = true
  }

  /// What goes before a value or a name: nothing behind a name, else the comma and the line break.
  mutating func prepareForElement() {
    guard !isBehindName else {
      isBehindName = false
      return
    }
    assert(depth > 0 || !needsComma, "a text holds one value")
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    if depth > 0 { breakLine() }
    // A name asks for its comma here; its value then needs none.
    needsComma = true
  }

  private mutating func breakLine() {
    guard isPretty else { return }
    bytes.append(0x0A)
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: depth * 2))
  }
}
