/// PostgreSQL keeps every text but one with a U+0000 in it, which JSON and models may bring. What people send is refused with it; what
/// is made of their answers is kept without it.
extension String {
  /// Whether it can be kept as it is.
  public var isStorable: Bool { !utf8.contains(0) }

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
