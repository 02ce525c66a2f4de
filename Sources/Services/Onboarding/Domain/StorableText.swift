/// PostgreSQL keeps every text but one with a U+0000 in it, which JSON and models may bring. What people send is refused with it; what
/// is made of their answers is kept without it.
extension String {
  /// Whether it can be kept as it is.
  public var isStorable: Bool { !utf8.contains(0) }

  /// Without what cannot be kept.
  public var storable: String { isStorable ? self : String(unicodeScalars.filter { $0.value != 0 }) }
}
