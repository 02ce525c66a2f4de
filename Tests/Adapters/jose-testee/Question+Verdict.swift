import JOSE
import JSON

extension Question {
  /// Why the token is refused, in a word; nil if it is accepted.
  ///
  /// The verdict is the verifier's alone. Only its reason is made more exact where the key set lists keys that may not be used:
  /// such a set is as good as empty to the verifier, and the token's key unknown.
  func refusal() -> String? {
    let keys: JWKSet
    let unusable: String?
    do {
      keys = try JWKSet(parsing: keySet)
      unusable = keys.isEmpty && !keys.rejections.isEmpty ? TokenError.Code.keyNotAllowed.description : nil
    } catch {
      keys = JWKSet([])
      unusable = isSingleKey ? TokenError.Code.keyNotAllowed.description : error.code.description
    }
    do {
      try verify(keys)
      return nil
    } catch {
      if error.code == .algorithmNotAllowed { return error.code.description }
      if let unusable { return unusable }
      return error.code == .keyUnknown && isRejected(in: keys)
        ? TokenError.Code.keyNotAllowed.description : error.code.description
    }
  }

  private var allowed: Set<SignatureAlgorithm> {
    Set(algorithms.compactMap(SignatureAlgorithm.init(rawValue:)))
  }

  private func verify(_ keys: JWKSet) throws(TokenError) {
    guard let claims else {
      _ = try TokenVerifier.verifySignature(token, keys: keys, allowedAlgorithms: allowed)
      return
    }
    let policy = VerificationPolicy(allowedAlgorithms: allowed, issuers: [claims.issuer], audiences: [claims.audience])
    _ = try TokenVerifier.verify(token, keys: keys, policy: policy, now: claims.now)
  }

  /// Whether the set lists the key that the token names, and does not use it.
  private func isRejected(in keys: JWKSet) -> Bool {
    guard let token = try? CompactJWS(parsing: token, allowedAlgorithms: allowed) else { return false }
    return keys.rejections.contains { $0.keyID == token.keyID }
  }

  /// Whether the document is one key instead of a set of keys.
  private var isSingleKey: Bool {
    (try? JSONParser.parse(keySet))?["kty"] != nil
  }
}
