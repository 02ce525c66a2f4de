/// What a person is called.
public enum PersonName {
  /// The most characters of a name.
  public static let limit = 100
  /// What somebody is called of whom nothing is known.
  public static let fallback = "User"

  /// The name of a new account: the given name, else the e-mail address up to its `@`, else `User`.
  ///
  /// A relay's address says nothing about the person, so no name is made of it.
  ///
  /// - Parameters:
  ///   - told: What the app was told (Apple tells a name once, and only the app).
  ///   - identity: What the provider's token says.
  public static func proposed(told: String?, for identity: VerifiedIdentity) -> String {
    if let name = told.flatMap(normalized) ?? identity.name.flatMap(normalized) { return name }
    guard !identity.emailIsPrivate, let email = identity.email, let at = email.firstIndex(of: "@") else { return fallback }
    return normalized(String(email[..<at])) ?? fallback
  }

  /// A name that a person chose, without blanks around it; nil when it has no character, more than ``limit``, or one that is no text
  /// (a control character).
  public static func chosen(_ text: String) -> String? {
    guard let name = normalized(text), text.unicodeScalars.count <= 4 * limit, trimmed(text).count <= limit,
      name.unicodeScalars.count == trimmed(text).unicodeScalars.count
    else { return nil }
    return name
  }

  /// Without control characters and blanks around, cut to the limit; nil when nothing is left.
  private static func normalized(_ text: String) -> String? {
    // A hostile text may hang thousands of scalars on one character: cut those before counting characters.
    let scalars = text.unicodeScalars.lazy.filter { $0.properties.generalCategory != .control }.prefix(4 * limit)
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    let name = trimmed(String(trimmed(String(view)).prefix(limit)))
    return name.isEmpty ? nil : name
  }

  private static func trimmed(_ text: String) -> String {
    var rest = text[...]
    while rest.first?.isWhitespace == true { rest.removeFirst() }
    while rest.last?.isWhitespace == true { rest.removeLast() }
    return String(rest)
  }
}
