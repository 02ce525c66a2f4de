/// How the nonce that the service issued has to stand in a provider's token.
public enum NonceForm: String, Sendable, Hashable, CaseIterable {
  /// As it was issued.
  case raw
  /// The SHA-256 of its text, in 64 lower-case hexadecimal digits.
  case sha256
}
