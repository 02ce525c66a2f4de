internal import Synchronization

/// A file, or a part of it, piece by piece for one reader. Reading blocks; asking what comes next does not.
final class FilePieces: Sendable {
  private let file: OpenFile
  private let position: Atomic<Int64>
  private let end: Int64

  init(of file: OpenFile, _ part: Range<Int64>) {
    self.file = file
    position = Atomic(part.lowerBound)
    end = part.upperBound
  }

  /// Where the next piece is; nil at the end.
  func next() -> Range<Int64>? {
    let start = position.load(ordering: .relaxed)
    guard start < end else { return nil }
    let next = min(end, start + Int64(BlobContent.pieceSize))
    position.store(next, ordering: .relaxed)
    return start..<next
  }

  /// - Throws: ``FileFailure`` also when the file has become shorter.
  func read(_ part: Range<Int64>) throws(FileFailure) -> [UInt8] {
    let bytes = try file.read(Int(part.upperBound - part.lowerBound), at: part.lowerBound)
    guard bytes.count == part.count else { throw FileFailure(call: "read", reason: .shorter) }
    return bytes
  }
}
