/// Where what people upload is kept: one name for each content of each person, never public.
///
/// All stores keep the same promises. ``put(_:_:type:)`` returns once the content is durable and was compared with its name; storing
/// again what is there is fine. ``delete(_:)`` of what is not there is fine. Nothing here has a whole blob in memory.
public protocol BlobStore: Sendable {
  /// Stores content under its name.
  ///
  /// - Parameters:
  ///   - key: The name, whose digest the content has.
  ///   - content: What is stored.
  ///   - type: The media type that it is given out with.
  /// - Throws: ``BlobError``: `corrupt` when the content has another digest, `sourceFailed`, `refused`, `unavailable`, `cancelled`.
  func put(_ key: BlobKey, _ content: BlobContent, type: String) async throws(BlobError)

  /// Reads a blob, or a part of it.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - range: The bytes from the first to the last, both included; nil for all. A part that begins behind the end is empty.
  ///   - body: Gets the facts and the pieces, while the store is held back.
  /// - Throws: ``BlobError``, with `notFound` when there is none, or what `body` throws.
  func read<Value>(
    _ key: BlobKey, range: ClosedRange<Int64>?, _ body: (BlobFacts, BlobReader) async throws -> Value
  ) async throws -> Value

  /// What is known of a blob; nil when there is none.
  func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts?

  /// Removes a blob; fine when there is none.
  func delete(_ key: BlobKey) async throws(BlobError)

  /// Makes a URL with which anybody who has it may do one thing for a while.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - use: What it is for.
  ///   - lifetime: How long: 1 s to 15 minutes.
  /// - Throws: ``BlobError`` with `refused` where the store cannot make any.
  func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String
}

/// What a link allows.
public enum BlobLinkUse: Sendable, Hashable {
  /// Reading the blob.
  case download
  /// Storing it: with `PUT`.
  case upload
}

/// What is known of a blob without reading it.
public struct BlobFacts: Sendable, Hashable {
  /// Its whole size in bytes.
  public let size: Int64
  /// The media type that it was stored with.
  public let type: String

  /// The facts.
  public init(size: Int64, type: String) {
    self.size = size
    self.type = type
  }
}

/// The content of a blob as it comes.
public struct BlobReader: Sendable {
  /// The next piece, or nil after the last one.
  public let next: @Sendable () async throws(BlobError) -> [UInt8]?

  /// A reader of pieces.
  public init(_ next: @escaping @Sendable () async throws(BlobError) -> [UInt8]?) { self.next = next }

  /// All that is left, as long as it has at most `limit` bytes.
  ///
  /// - Throws: ``BlobError``, with `tooLarge` when there is more.
  public func whole(atMost limit: Int) async throws(BlobError) -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() {
      guard bytes.count + piece.count <= limit else { throw BlobError(.tooLarge, "the blob has more than \(limit) bytes") }
      bytes += piece
    }
    return bytes
  }
}
