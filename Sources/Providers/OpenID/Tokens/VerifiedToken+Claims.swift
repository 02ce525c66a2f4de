package import JOSE
internal import JSON

/// Claims that OpenID Connect leaves optional, read strictly: a claim of the wrong type is a reason to refuse, not to look away.
extension VerifiedToken {
  /// A text, or nil when the claim is absent.
  ///
  /// - Throws: ``IDTokenError`` with the reason `<name>_malformed`.
  package func text(_ name: String) throws(IDTokenError) -> String? {
    guard let value = claims[name] else { return nil }
    guard let text = value.string else { throw IDTokenError(.rejected, reason: "\(name)_malformed") }
    return text
  }

  /// A truth value or the text of one, as Apple writes both; nil when the claim is absent.
  ///
  /// - Throws: ``IDTokenError`` with the reason `<name>_malformed`.
  package func flag(_ name: String) throws(IDTokenError) -> Bool? {
    guard let value = claims[name] else { return nil }
    switch (value.bool, value.string) {
    case (let flag?, _): return flag
    case (_, "true"): return true
    case (_, "false"): return false
    default: throw IDTokenError(.rejected, reason: "\(name)_malformed")
    }
  }

  /// `nonce`; nil when it is absent. An empty one binds the token to nothing, so it is refused.
  ///
  /// - Throws: ``IDTokenError`` with the reason `nonce_malformed` or `nonce_empty`.
  package func nonce() throws(IDTokenError) -> String? {
    guard let nonce = try text("nonce") else { return nil }
    guard !nonce.isEmpty else { throw IDTokenError(.rejected, reason: "nonce_empty") }
    return nonce
  }
}
