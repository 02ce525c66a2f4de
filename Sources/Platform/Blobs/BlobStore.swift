public import Values

/// Where what people upload is kept: one name for each content of each person, never public.
///
/// All stores keep the same promises. ``put(_:_:type:)`` returns once the content is durable and was compared with its name; storing
/// again what is there is fine. ``delete(_:)`` of what is not there is fine. Nothing here has a whole blob in memory.
public protocol BlobStore: Sendable {
  /// Stores content under its name. Until this has returned, nobody sees a part of it.
  ///
  /// - Parameters:
  ///   - key: The name, whose digest the content has.
  ///   - content: What is stored.
  ///   - type: The media type that it is given out with: 3 to 255 visible characters of ASCII and blanks, with a slash.
  /// - Throws: ``BlobError``: `corrupt` when the content has another digest, `invalid` when the type is none, `sourceFailed`, `refused`,
  ///   `unavailable`, `cancelled`.
  func put(_ key: BlobKey, _ content: BlobContent, type: String) async throws(BlobError)

  /// Reads a blob, or a part of it.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - range: The bytes from the first to the last, both included; nil for all. A part that begins behind the end is empty.
  ///   - body: Gets the facts and the pieces, while the store is held back. The reader is of use until it returns.
  /// - Throws: ``BlobError``, with `notFound` when there is none, or what `body` throws, unchanged.
  func read<Value>(
    _ key: BlobKey, range: ClosedRange<Int64>?, _ body: (BlobFacts, BlobReader) async throws -> Value
  ) async throws -> Value

  /// What is known of a blob; nil when there is none.
  func facts(_ key: BlobKey) async throws(BlobError) -> BlobFacts?

  /// Removes a blob; fine when there is none.
  func delete(_ key: BlobKey) async throws(BlobError)

  /// Some names of a person's blobs, in the order of their digests.
  ///
  /// - Parameters:
  ///   - owner: Whose.
  ///   - last: The name after which they begin; nil for the first ones.
  ///   - count: How many at most, 1 to 1,000.
  /// - Returns: The names; none when there are no more. There may be fewer than `count` and still more to come.
  func keys(of owner: UUID, after last: BlobKey?, atMost count: Int) async throws(BlobError) -> [BlobKey]

  /// Removes all blobs of a person. One that is being stored meanwhile may stay: who deletes a person lets nobody store for them first.
  ///
  /// - Returns: How many there were. Where it throws, some are removed; calling again goes on.
  @discardableResult
  func deleteAll(of owner: UUID) async throws(BlobError) -> Int

  /// Makes a URL with which anybody who has it may do one thing for a while.
  ///
  /// What comes by an upload link was not compared with its name: ``verify(_:)`` does that.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - use: What it is for.
  ///   - lifetime: How long: 1 s to 15 minutes; parts of a second do not count.
  /// - Throws: ``BlobError``: `invalid` for another lifetime, `unsupported` where the store cannot make any.
  func link(_ key: BlobKey, for use: BlobLinkUse, lifetime: Duration) throws(BlobError) -> String
}

extension BlobStore {
  /// Stores what is in memory.
  ///
  /// - Parameters:
  ///   - bytes: The content.
  ///   - owner: Whose it is.
  ///   - type: Its media type.
  /// - Returns: Its name.
  /// - Throws: As ``put(_:_:type:)``.
  @discardableResult
  public func put(_ bytes: [UInt8], of owner: UUID, type: String) async throws(BlobError) -> BlobKey {
    let key = BlobKey(owner: owner, content: bytes)
    try await put(key, BlobContent(bytes), type: type)
    return key
  }

  /// Reads a whole blob into memory, compared with its name.
  ///
  /// - Parameters:
  ///   - key: The name.
  ///   - limit: How many bytes there is room for.
  /// - Throws: ``BlobError``: `notFound`, `tooLarge` before anything is read, `corrupt`, and what else a store throws.
  public func get(_ key: BlobKey, atMost limit: Int) async throws -> [UInt8] {
    try await read(key, range: nil) { facts, reader in
      guard facts.size <= Int64(limit) else { throw BlobError(.tooLarge, "get: \(facts.size) bytes of \(limit) at most") }
      return try await reader.whole(atMost: limit)
    }
  }

  /// Reads a whole blob to compare it with its name, and keeps nothing of it.
  ///
  /// - Returns: What is known of it; nil when there is none.
  /// - Throws: ``BlobError``, with `corrupt` when it is another content.
  public func verify(_ key: BlobKey) async throws -> BlobFacts? {
    do {
      return try await read(key, range: nil) { facts, reader in
        while try await reader.next() != nil {}
        return facts
      }
    } catch let error as BlobError where error.code == .notFound {
      return nil
    }
  }
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

  /// The bytes of a part, as far as there are any; of nil, all.
  func part(_ range: ClosedRange<Int64>?) -> Range<Int64> {
    guard let range else { return 0..<size }
    guard range.upperBound >= 0, range.lowerBound < size else { return 0..<0 }
    return max(0, range.lowerBound)..<min(size - 1, range.upperBound) + 1
  }
}

/// The content of a blob as it comes, for one reader.
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
