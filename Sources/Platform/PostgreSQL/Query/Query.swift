/// One SQL statement, written as a literal whose interpolations become parameters.
///
/// ```swift
/// let query: Query = "select title from notes.note where user_id = \(owner) and id = \(id)"
/// ```
/// The text consists of literals of the program alone; a value never becomes part of it. A query is cheap to make again: the
/// text is put together only when a connection prepares the statement for the first time.
public struct Query: ExpressibleByStringInterpolation, Sendable {
  /// A literal stretch of text, or (without text) a parameter: its value among the bytes of all values, a negative count being NULL.
  // SAFETY: points to a literal in the program's read-only data.
  struct Part: @unchecked Sendable {
    var text: UnsafePointer<UInt8>?
    var count: Int32
    var offset: Int32 = 0
    var type = SQLType(rawValue: 0)
    var isText = true

    var isParameter: Bool { text == nil }
  }

  /// Stands for text and parameter types: the addresses of the literals, mixed into 128 bits.
  struct Identity: Hashable, Sendable {
    var first: UInt64 = 0x9e37_79b9_7f4a_7c15
    var second: UInt64 = 0xc2b2_ae3d_27d4_eb4f

    mutating func mix(_ value: UInt64) {
      first = (first ^ value) &* 0xff51_afd7_ed55_8ccd
      first ^= first >> 32
      second = (second ^ value) &* 0xc4ce_b9fe_1a85_ec53
      second = (second << 29 | second >> 35) &+ first
    }

    func hash(into hasher: inout Hasher) { hasher.combine(first) }
  }

  var parts: ContiguousArray<Part>
  var parameterCount = 0
  var bytes: ContiguousArray<UInt8>
  var identity: Identity
  /// Whether a text among the parameters holds U+0000, which PostgreSQL does not keep.
  private(set) var holdsNUL = false

  /// A statement without parameters.
  public init(stringLiteral text: StaticString) {
    var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    interpolation.appendLiteral(text)
    self = interpolation.query
  }

  /// A statement with parameters.
  public init(stringInterpolation: StringInterpolation) { self = stringInterpolation.query }

  init(parameters: Int) {
    parts = []
    bytes = []
    identity = Identity()
    parts.reserveCapacity(parameters * 2 + 1)
    if parameters > 0 { bytes.reserveCapacity(parameters * 16) }
  }

  /// The declared types of the parameters, in order.
  var parameterTypes: [SQLType] { parts.filter(\.isParameter).map(\.type) }

  /// The statement as the server gets it, with `$1`, `$2` … for the parameters.
  public var text: String {
    var text: [UInt8] = []
    var number = 0
    for part in parts {
      if let start = part.text {
        text.append(contentsOf: UnsafeBufferPointer(start: start, count: Int(part.count)))
      } else {
        number += 1
        text.append(contentsOf: "$\(number)".utf8)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  mutating func append(_ text: StaticString) {
    precondition(text.hasPointerRepresentation, "a literal of the program")
    guard text.utf8CodeUnitCount > 0 else { return }
    parts.append(Part(text: text.utf8Start, count: Int32(text.utf8CodeUnitCount)))
    identity.mix(UInt64(UInt(bitPattern: text.utf8Start)))
    identity.mix(UInt64(text.utf8CodeUnitCount))
  }

  mutating func append(_ query: Query) {
    let offset = Int32(bytes.count)
    bytes.append(contentsOf: query.bytes)
    for var part in query.parts {
      part.offset += offset
      parts.append(part)
    }
    parameterCount += query.parameterCount
    if query.holdsNUL { holdsNUL = true }
    identity.mix(query.identity.first)
    identity.mix(query.identity.second)
  }

  mutating func append(_ value: some SQLEncodable) {
    let type = Swift.type(of: value).sqlType
    let start = bytes.count
    if !value.isNull {
      value.encode(into: &bytes)
      if type.holdsNUL(bytes, from: start) { holdsNUL = true }
      // libpq reads the text format up to its NUL.
      if Swift.type(of: value).usesTextFormat { bytes.append(0) }
    }
    precondition(bytes.count <= Int(Int32.max), "the parameters of one statement stay below 2 GiB")
    parts.append(
      Part(
        text: nil, count: value.isNull ? -1 : Int32(bytes.count - start), offset: Int32(start), type: type,
        isText: Swift.type(of: value).usesTextFormat))
    parameterCount += 1
    identity.mix(UInt64(type.rawValue) | 1 << 63)
  }

  /// Refuses a text with U+0000 before anything of the statement leaves: the server would refuse it too, and with it whatever shares
  /// its segment or its transaction.
  ///
  /// - Throws: ``DatabaseError`` with ``DatabaseError/Code/unstorableText``.
  @inline(__always)
  func mustBeStorable() throws(DatabaseError) {
    if holdsNUL { throw DatabaseError(.unstorableText, "a text among the parameters holds U+0000") }
  }

  /// Gathers the parts of an interpolated literal.
  public struct StringInterpolation: StringInterpolationProtocol {
    var query: Query

    /// Makes room for the parts.
    public init(literalCapacity: Int, interpolationCount: Int) {
      query = Query(parameters: interpolationCount)
    }

    /// A stretch of the literal: becomes text of the statement.
    public mutating func appendLiteral(_ literal: StaticString) { query.append(literal) }

    /// A value: becomes the next parameter.
    public mutating func appendInterpolation(_ value: some SQLEncodable) { query.append(value) }

    /// A value that may be missing: becomes the next parameter, NULL for nil.
    public mutating func appendInterpolation<Value: SQLEncodable>(_ value: Value?) { query.append(value) }

    /// A part of the statement that is chosen by the program among literals of its own, such as a sort order.
    public mutating func appendInterpolation(fragment: StaticString) { query.append(fragment) }

    /// Another query as a part of this one; its parameters are numbered anew.
    public mutating func appendInterpolation(part: Query) { query.append(part) }
  }
}
