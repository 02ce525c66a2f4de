internal import AuthDomain
internal import JOSE

/// Makes refresh tokens and knows those that it made.
///
/// The first token of a session is random. Each successor follows from the token it is exchanged for, the session, the generation and
/// the client's attempt, and from a pepper that never leaves the database and the process: so the same attempt is told the same
/// successor again, though only digests are kept, and nobody with a token can work out the next.
struct RefreshTokens: Sendable {
  private let pepper: [UInt8]

  init(pepper: [UInt8]) { self.pepper = pepper }

  /// The first token of a session.
  func first(of session: SessionID) -> RefreshToken {
    token(session, 0, key: SecureRandom.bytes(RefreshToken.halfByteCount))
  }

  /// The successor of a generation that an attempt gets for a token.
  func successor(of token: RefreshToken, attempt: String, generation: UInt32) -> RefreshToken {
    let head = RefreshToken.head(token.session, generation)
    let code = authenticationCode("next", token.secret + head + Array(attempt.utf8))
    return self.token(token.session, generation, key: Array(code.prefix(RefreshToken.halfByteCount)))
  }

  /// Reads a token that was made here; nil for everything else.
  func read(_ text: String) -> RefreshToken? {
    guard let token = RefreshToken(text, decode: { Base64URL.decode($0) }),
      ConstantTime.areEqual(token.seal, seal(token.session, token.generation, token.key))
    else { return nil }
    return token
  }

  /// What a token is known by.
  static func digest(_ token: RefreshToken) -> AuthDomain.Digest { digest(token.secret) }

  /// What an attempt is known by; nil when the client names none.
  static func attempt(_ text: String) -> AuthDomain.Digest? { text.isEmpty ? nil : digest(Array(text.utf8)) }

  static func digest(_ bytes: [UInt8]) -> AuthDomain.Digest {
    guard let digest = AuthDomain.Digest(SHA256.digest(bytes)) else { preconditionFailure("SHA-256 has 32 bytes") }
    return digest
  }

  private func token(_ session: SessionID, _ generation: UInt32, key: [UInt8]) -> RefreshToken {
    RefreshToken(session: session, generation: generation, secret: key + seal(session, generation, key))
  }

  private func seal(_ session: SessionID, _ generation: UInt32, _ key: [UInt8]) -> [UInt8] {
    Array(authenticationCode("seal", RefreshToken.head(session, generation) + key).prefix(RefreshToken.halfByteCount))
  }

  /// Each use has a word of its own, so that no code serves for another.
  private func authenticationCode(_ use: String, _ bytes: [UInt8]) -> [UInt8] {
    HMACSHA256.authenticationCode(for: Array(use.utf8) + [0] + bytes, key: pepper)
  }
}

extension RefreshToken {
  /// As the client keeps it.
  var text: String { text(encode: { Base64URL.encode($0) }) }
}
