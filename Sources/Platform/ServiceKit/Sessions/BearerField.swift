/// The credential of a call: `authorization: Bearer <token>` (RFC 6750).
enum BearerField {
  /// The one token of a field of the scheme `Bearer`, in any case; nil for anything else.
  static func token(in field: String) -> Substring? {
    let parts = field.split(omittingEmptySubsequences: true) { $0 == " " || $0 == "\t" }
    guard parts.count == 2, parts[0].utf8.map({ $0 | 0x20 }).elementsEqual("bearer".utf8) else { return nil }
    return parts[1]
  }
}
