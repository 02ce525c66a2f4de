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
  public init(size: Int64, open: @escaping @Sendable () async throws -> Pieces) {
    self.size = size
    self.open = open
  }

  /// Content that is in memory.
  public init(_ bytes: [UInt8]) {
    self.init(size: Int64(bytes.count)) {
      let cursor = Cursor()
      return { cursor.next(of: bytes) }
    }
  }
}

internal import Synchronization

private final class Cursor: Sendable {
  private let position = Atomic(0)

  func next(of bytes: [UInt8]) -> [UInt8]? {
    let start = position.load(ordering: .relaxed)
    guard start < bytes.count else { return nil }
    let end = min(bytes.count, start + BlobContent.pieceSize)
    position.store(end, ordering: .relaxed)
    return Array(bytes[start..<end])
  }
}
