/// The credential of a request: `Authorization: Bearer <token>`.
public enum BearerToken {
  /// The token in the values of the `authorization` fields of a request; nil unless there is exactly one field, of the scheme
  /// `Bearer` in any case, with one token in it.
  ///
  /// Of two fields nobody could say which one a proxy in front has looked at.
  public static func read(_ fields: [String]) -> String? {
    guard fields.count == 1 else { return nil }
    let field = fields[0].utf8
    guard let start = field.firstIndex(where: { !isBlank($0) }),
      let end = field[start...].firstIndex(where: isBlank),
      field[start..<end].map({ $0 | 0x20 }).elementsEqual("bearer".utf8)
    else { return nil }
    let rest = field[end...]
    guard let first = rest.firstIndex(where: { !isBlank($0) }), let last = rest.lastIndex(where: { !isBlank($0) }) else {
      return nil
    }
    return String(rest[first...last])
  }

  private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
