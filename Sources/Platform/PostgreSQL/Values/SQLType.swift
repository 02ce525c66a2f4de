/// The object identifier of a PostgreSQL type. Those of built-in types never change.
public struct SQLType: RawRepresentable, Sendable, Hashable {
  /// The OID, as in `pg_type`.
  public let rawValue: UInt32

  /// Wraps an OID.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  @inlinable
  init(_ rawValue: UInt32) { self.rawValue = rawValue }

  /// boolean.
  @inlinable public static var bool: SQLType { .init(16) }
  /// bytea.
  @inlinable public static var bytea: SQLType { .init(17) }
  /// name, the type of identifiers in the catalogue.
  @inlinable public static var name: SQLType { .init(19) }
  /// bigint.
  @inlinable public static var int8: SQLType { .init(20) }
  /// smallint.
  @inlinable public static var int2: SQLType { .init(21) }
  /// integer.
  @inlinable public static var int4: SQLType { .init(23) }
  /// text.
  @inlinable public static var text: SQLType { .init(25) }
  /// oid, an unsigned 32-bit integer.
  @inlinable public static var oid: SQLType { .init(26) }
  /// json.
  @inlinable public static var json: SQLType { .init(114) }
  /// real.
  @inlinable public static var float4: SQLType { .init(700) }
  /// double precision.
  @inlinable public static var float8: SQLType { .init(701) }
  /// A literal without a type.
  @inlinable public static var unknown: SQLType { .init(705) }
  /// inet.
  @inlinable public static var inet: SQLType { .init(869) }
  /// character(n).
  @inlinable public static var bpchar: SQLType { .init(1042) }
  /// varchar.
  @inlinable public static var varchar: SQLType { .init(1043) }
  /// timestamp without time zone.
  @inlinable public static var timestamp: SQLType { .init(1114) }
  /// timestamp with time zone.
  @inlinable public static var timestamptz: SQLType { .init(1184) }
  /// void, what a function without a result returns.
  @inlinable public static var void: SQLType { .init(2278) }
  /// uuid.
  @inlinable public static var uuid: SQLType { .init(2950) }
  /// jsonb.
  @inlinable public static var jsonb: SQLType { .init(3802) }
  /// boolean[].
  @inlinable public static var boolArray: SQLType { .init(1000) }
  /// bytea[].
  @inlinable public static var byteaArray: SQLType { .init(1001) }
  /// smallint[].
  @inlinable public static var int2Array: SQLType { .init(1005) }
  /// integer[].
  @inlinable public static var int4Array: SQLType { .init(1007) }
  /// text[].
  @inlinable public static var textArray: SQLType { .init(1009) }
  /// bigint[].
  @inlinable public static var int8Array: SQLType { .init(1016) }
  /// double precision[].
  @inlinable public static var float8Array: SQLType { .init(1022) }
  /// timestamptz[].
  @inlinable public static var timestamptzArray: SQLType { .init(1185) }
  /// uuid[].
  @inlinable public static var uuidArray: SQLType { .init(2951) }

  /// The first identifier that the server gives to types of its users: enumerations, domains, composites.
  @inlinable public static var firstUserDefined: UInt32 { 16384 }
}
