import Glibc

extension String {
  /// Whether both hold the same UTF-8 bytes. Swift's `==` is canonical equivalence, which is no basis for a decision.
  package func hasSameBytes(as other: String) -> Bool {
    let count = utf8.count
    guard count == other.utf8.count else { return false }
    let verdict = utf8.withContiguousStorageIfAvailable { left in
      other.utf8.withContiguousStorageIfAvailable { right in
        count == 0 || memcmp(left.baseAddress!, right.baseAddress!, count) == 0
      }
    }
    return (verdict ?? nil) ?? utf8.elementsEqual(other.utf8)
  }

  /// Feeds the UTF-8 bytes; the length first, so that neighbours in a sequence cannot run into each other.
  func hashBytes(into hasher: inout Hasher) {
    hasher.combine(utf8.count)
    let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
  }
}

/// A name as a dictionary key, equal only to the same bytes.
struct NameBytes: Hashable, Sendable {
  let name: String

  init(_ name: String) { self.name = name }

  static func == (left: NameBytes, right: NameBytes) -> Bool { left.name.hasSameBytes(as: right.name) }

  func hash(into hasher: inout Hasher) { name.hashBytes(into: &hasher) }
}
