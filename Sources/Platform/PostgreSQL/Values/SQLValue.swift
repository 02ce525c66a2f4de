/// What may stand in an interpolation of a ``Query``: it is sent as a parameter, never as text of the statement.
public protocol SQLEncodable: Sendable {
  /// The type that the parameter is declared to have.
  static var sqlType: SQLType { get }
  /// Whether ``encode(into:)`` writes the text form of the type instead of its binary form.
  static var usesTextFormat: Bool { get }
  /// Whether this value is NULL; then nothing is written.
  var isNull: Bool { get }
  /// Appends the value in the form of the wire protocol.
  func encode(into bytes: inout ContiguousArray<UInt8>)
}

extension SQLEncodable {
  /// Whether the value travels as text.
  @inlinable public static var usesTextFormat: Bool { false }
  /// Whether the value is NULL.
  @inlinable public var isNull: Bool { false }
}

/// What a column can be read as.
public protocol SQLDecodable: Sendable {
  /// Reads one column of one row.
  ///
  /// - Throws: ``DatabaseError`` with `decodingFailed` when the column is NULL or of a type that does not fit.
  init(sql cell: Cell) throws(DatabaseError)
}

/// What can be both parameter and column.
public typealias SQLValue = SQLEncodable & SQLDecodable

/// One column of one row in binary form; valid only while it is being decoded.
public struct Cell {
  /// The value's bytes; nil for NULL.
  public let bytes: UnsafeRawBufferPointer?
  /// The column's type.
  public let type: SQLType

  /// A cell over memory that outlives it.
  @inlinable
  public init(bytes: UnsafeRawBufferPointer?, type: SQLType) {
    self.bytes = bytes
    self.type = type
  }

  /// The bytes of a value that must not be NULL.
  @inlinable
  public func value() throws(DatabaseError) -> UnsafeRawBufferPointer {
    guard let bytes else { throw Self.unexpectedNull() }
    return bytes
  }

  /// The error for a column whose type does not fit.
  public func mismatch(_ expected: String) -> DatabaseError {
    .init(.decodingFailed, "type OID \(type.rawValue) (\(bytes?.count ?? -1) bytes) cannot be read as \(expected)")
  }

  /// The error for a NULL in a place that is not optional.
  public static func unexpectedNull() -> DatabaseError { .init(.decodingFailed, "NULL where a value is needed") }
}

extension Optional: SQLEncodable where Wrapped: SQLEncodable {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { Wrapped.sqlType }
  /// Whether the value travels as text.
  @inlinable public static var usesTextFormat: Bool { Wrapped.usesTextFormat }
  /// Whether the value is NULL.
  @inlinable public var isNull: Bool { self == nil }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { self?.encode(into: &bytes) }
}

extension Optional: SQLDecodable where Wrapped: SQLDecodable {
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    self = cell.bytes == nil ? nil : try Wrapped(sql: cell)
  }
}

// MARK: Enumerations and identifiers

extension SQLEncodable where Self: RawRepresentable, RawValue: SQLEncodable {
  /// The declared type of the parameter.
  @inlinable public static var sqlType: SQLType { RawValue.sqlType }
  /// Whether the value travels as text.
  @inlinable public static var usesTextFormat: Bool { RawValue.usesTextFormat }
  /// Appends the value in the form of the wire protocol.
  @inlinable
  public func encode(into bytes: inout ContiguousArray<UInt8>) { rawValue.encode(into: &bytes) }
}

extension SQLDecodable where Self: RawRepresentable, RawValue: SQLDecodable {
  /// Reads the value from a column.
  @inlinable
  public init(sql cell: Cell) throws(DatabaseError) {
    guard let value = Self(rawValue: try RawValue(sql: cell)) else {
      throw DatabaseError(.decodingFailed, "the value is no \(Self.self)")
    }
    self = value
  }
}
