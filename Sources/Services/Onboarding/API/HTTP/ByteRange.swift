/// The part of a content that the header `range` asks for (RFC 9110, 14.1.2).
enum ByteRange: Hashable {
  /// All of it: nothing was asked for, or nothing that this understands, or more than one part.
  case whole
  /// A part, which is there and not empty.
  case part(Range<Int64>)
  /// A part that is not there.
  case unsatisfiable

  /// - Parameters:
  ///   - header: What was asked for.
  ///   - size: How many bytes there are.
  init(_ header: String?, of size: Int64) {
    self = .whole
    guard let header, header.lowercased().hasPrefix("bytes=") else { return }
    let ends = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else { return }
    switch (Int64(ends[0]), Int64(ends[1])) {
    case (let first?, let last?) where first <= last: self = Self.between(first, min(last, size - 1), size)
    case (let first?, nil) where ends[1].isEmpty: self = Self.between(first, size - 1, size)
    case (nil, let count?) where ends[0].isEmpty:
      self = count == 0 ? .unsatisfiable : Self.between(max(0, size - count), size - 1, size)
    default: break
    }
  }

  private static func between(_ first: Int64, _ last: Int64, _ size: Int64) -> ByteRange {
    first < size && first <= last ? .part(first..<last + 1) : .unsatisfiable
  }
}
