/// A body that is sent piece by piece, as fast as the peer takes it, and is never whole in memory.
public struct HTTPUpload: Sendable {
  /// The pieces of one attempt, in order; nil after the last one. A piece is asked for when the one before is on its way.
  public typealias Pieces = @Sendable () async throws -> [UInt8]?

  /// Exactly how many bytes the pieces have together: the `Content-Length`.
  public let size: Int64
  let open: @Sendable () async throws -> Pieces

  /// A body of a known size.
  ///
  /// - Parameters:
  ///   - size: How many bytes; a body that turns out shorter or longer is broken off, so that the peer never takes it for whole.
  ///   - open: Begins with the first piece, anew for each attempt.
  public init(size: Int64, open: @escaping @Sendable () async throws -> Pieces) {
    precondition(size >= 0, "a body has no negative size")
    self.size = size
    self.open = open
  }
}
