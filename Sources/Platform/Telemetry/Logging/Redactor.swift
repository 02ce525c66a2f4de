/// Takes secrets out of text on its way to a log: the one place that decides what no log may hold.
///
/// Recognized by shape: JWTs (`eyJ…`), Google access tokens (`ya29.…`), refresh tokens, client secrets and API keys, credentials
/// behind `Bearer` or `Basic`, PEM blocks; and by name: whatever follows a telling name and `:` or `=` inside text
/// (`"private_key": "…"`, `password=…`), and the whole value of a metadata field with such a name.
public enum Redactor {
  /// What stands where a secret was.
  public static let mark = "[redacted]"

  /// The text without what looks like a secret; the same string when there is none.
  public static func redact(_ text: String) -> String {
    var text = text
    return text.withUTF8 { bytes -> String? in
      var scanner = SecretScanner(bytes)
      return scanner.redacted()
    } ?? text
  }

  /// Whether a field of that name holds a secret, in whichever style the name is written: `x-api-key`, `apiKey`, `API_KEY`.
  ///
  /// Names that only describe a secret (`key_id`, `token_type`, `token_count`) do not.
  public static func isSecretName(_ name: String) -> Bool { SecretName.isSecret(Array(name.utf8)) }
}
