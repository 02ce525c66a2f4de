/// PostgreSQL keeps every text but one with a U+0000 in it, which JSON and models may bring. What people send is refused with it; what
/// is made of their answers is kept without it.
extension String {
  /// Whether it can be kept as it is.
  public var isStorable: Bool {
    utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer($0).hasNoZero } ?? !utf8.contains(0)
  }

  /// Whether it can be kept, and has so many characters, in at most so many bytes: one character may be megabytes of accents.
  public func isStorable(characters: ClosedRange<Int>, bytes: Int) -> Bool {
    utf8.count <= bytes && characters.contains(count) && isStorable
  }

  /// The first characters, at most so many, and none that begins within the bytes and ends behind them.
  func prefix(characters: Int, bytes: Int) -> String {
    var first = ""
    for character in prefix(characters) {
      guard first.utf8.count + character.utf8.count <= bytes else { break }
      first.append(character)
    }
    return first
  }

  /// Without what cannot be kept.
  public var storable: String { isStorable ? self : String(unicodeScalars.filter { $0.value != 0 }) }
}

extension UnsafeRawBufferPointer {
  /// Whether no byte is zero, eight at a time: recordings come as texts of megabytes, and one by one their bytes take longer than the
  /// rest of an answer.
  fileprivate var hasNoZero: Bool {
    let (ones, highs): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    var place = 0
    while place + 8 <= count {
      let word = loadUnaligned(fromByteOffset: place, as: UInt64.self)
      // A byte borrows from its highest bit only where it is zero (or is above one that is).
      guard (word &- ones) & ~word & highs == 0 else { return false }
      place += 8
    }
    return !self[place...].contains(0)
  }
}
