package import AuthDomain
internal import PostgreSQL
package import Values

extension UUID {
  /// The identifier as the database writes it.
  package init(_ identifier: some Identifier) { self.init(high: identifier.high, low: identifier.low) }
}

extension Identifier {
  /// The identifier that the database writes as this.
  package init(_ uuid: UUID) { self.init(high: uuid.high, low: uuid.low) }
}

extension Digest {
  /// Reads a column; its constraint keeps the length.
  init(column bytes: [UInt8]) throws(DatabaseError) {
    guard let digest = Digest(bytes) else { throw DatabaseError(.decodingFailed, "a digest has 32 bytes") }
    self = digest
  }
}
