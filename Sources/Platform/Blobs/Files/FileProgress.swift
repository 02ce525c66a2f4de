internal import Synchronization

/// How far one reader of a file is.
final class FileProgress: Sendable {
  private let position: Atomic<Int64>
  private let end: Int64

  init(at start: Int64, until end: Int64) {
    position = Atomic(start)
    self.end = end
  }

  /// How many bytes to read next; 0 at the end.
  func next(atMost most: Int) -> Int { Int(clamping: max(0, min(Int64(most), end - position.load(ordering: .relaxed)))) }

  /// - Returns: Where those bytes begin.
  func advance(by count: Int) -> Int64 { position.add(Int64(count), ordering: .relaxed).oldValue }
}
