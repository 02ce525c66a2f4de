public import EventLoop
internal import Synchronization

/// Content that can be read from its beginning, once or several times.
public struct BlobContent: Sendable {
  /// The pieces in order; nil after the last one.
  public typealias Pieces = @Sendable () async throws -> [UInt8]?

  /// The most bytes that one piece has, where this module makes them.
  public static let pieceSize = 64 << 10

  /// How many bytes.
  public let size: Int64
  /// Begins with the first piece, anew for each reader.
  public let open: @Sendable () async throws -> Pieces

  /// Content from its pieces.
  ///
  /// - Parameters:
  ///   - size: How many bytes they have together.
  ///   - open: Begins with the first piece, anew for each reader: a store that has to try again reads again.
  public init(size: Int64, open: @escaping @Sendable () async throws -> Pieces) {
    precondition(size >= 0, "content has no negative size")
    self.size = size
    self.open = open
  }

  /// Content that is in memory.
  public init(_ bytes: [UInt8]) {
    self.init(size: Int64(bytes.count)) {
      let position = Atomic(0)
      return {
        let start = position.load(ordering: .relaxed)
        guard start < bytes.count else { return nil }
        let end = min(bytes.count, start + Self.pieceSize)
        position.store(end, ordering: .relaxed)
        return Array(bytes[start..<end])
      }
    }
  }

  /// Content that is in a file, which stays as it is meanwhile: one that changes is noticed by its digest.
  ///
  /// - Parameters:
  ///   - path: The file; no symbolic link.
  ///   - pool: Where it is read.
  /// - Throws: ``BlobError`` with `sourceFailed` when it cannot be opened.
  public init(file path: String, pool: BlockingPool) async throws(BlobError) {
    let size: Int64
    do { size = try await pool.run { try OpenFile(path, .reading).size() } } catch {
      throw BlobError(.sourceFailed, "the file cannot be opened: \(error)")
    }
    self.init(size: size) {
      let pieces = FilePieces(of: try await pool.run { try OpenFile(path, .reading) }, 0..<size)
      return {
        guard let wanted = pieces.next() else { return nil }
        return try await pool.run { try pieces.read(wanted) }
      }
    }
  }

  /// The same content, whose last piece comes once all of it has been compared with a digest: who sends it on sends no whole one that
  /// is wrong. Content of no bytes has no last piece and is not compared.
  func verified(against key: BlobKey) -> BlobContent {
    BlobContent(size: size) { [self] in
      let next = try await open()
      let digest = PassingDigest()
      let seen = Atomic<Int64>(0)
      return {
        guard let piece = try await next() else { return nil }
        digest.update(piece)
        let total = seen.add(Int64(piece.count), ordering: .relaxed).newValue
        if total == size, !piece.isEmpty, digest.finish() != key.digest { throw Mismatch() }
        return piece
      }
    }
  }

  /// The content is not what its name says.
  struct Mismatch: Error {}
}
