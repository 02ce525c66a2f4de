public import PostgreSQL
public import Values

/// A recording whose bytes are in this database, and not in the object store yet.
public struct StagedRecording: Sendable, Hashable {
  /// SHA-256 of its bytes.
  public var digest: [UInt8]
  /// How many bytes it has.
  public var size: Int64
  /// What it is: `m4a`.
  public var format: String
  /// Its media type.
  public var mediaType: String
  /// Where its bytes are.
  public var stage: UUID

  /// A recording from its parts.
  public init(digest: [UInt8], size: Int64, format: String, mediaType: String, stage: UUID) {
    self.digest = digest
    self.size = size
    self.format = format
    self.mediaType = mediaType
    self.stage = stage
  }
}

/// A piece of a recording's bytes, at most 1 MiB.
public struct StagedPiece: Sendable, Hashable {
  /// Where the bytes of the recording are.
  public var stage: UUID
  /// Where the piece begins among them.
  public var start: Int64
  /// The bytes.
  public var data: ByteString

  /// A piece from its parts.
  public init(stage: UUID, start: Int64, data: [UInt8]) {
    self.stage = stage
    self.start = start
    self.data = ByteString(data)
  }
}

/// What is known of a recording that may come once more.
public struct KnownRecording: Sendable, Hashable, RowDecodable {
  /// SHA-256 of its bytes.
  public var digest: [UInt8]
  /// Whether the object store has its bytes, or had them.
  public var isStored: Bool
  /// Whether the object store has them no more.
  public var isLost: Bool

  /// Reads what ``RecordingStore/known(_:of:)`` answers.
  public init(_ row: Row) throws(DatabaseError) {
    (digest, isStored, isLost) = try row.decode(as: ([UInt8], Bool, Bool).self)
  }
}
