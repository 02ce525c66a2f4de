internal import AuthDomain
internal import JOSE

/// Makes refresh tokens and knows those that it made.
///
/// The first token of a session is random. Each successor follows from the token it is exchanged for, the session, the generation and
/// the client's attempt, and from a pepper that leaves the process sealed alone: so the same attempt is told the same successor
/// again, though only digests are kept, and nobody with a token can work out the next. The successor for a client that names no
/// attempt is random, as it is told once. A value of this type makes the tokens of one call.
struct RefreshTokens: Sendable {
  private let pepper: RefreshPepper
  private let chance = SecureRandom.bytes(RefreshToken.halfByteCount)

  init(pepper: RefreshPepper) { self.pepper = pepper }

  init(pepper: [UInt8]) { self.pepper = RefreshPepper(active: pepper) }

  /// The first token of a session.
  func first(of session: SessionID) -> RefreshToken {
    token(session, 0, key: SecureRandom.bytes(RefreshToken.halfByteCount), pepper.active)
  }

  /// The successor of a generation that an attempt gets for a token.
  func successor(of token: RefreshToken, attempt: String, generation: UInt32) -> RefreshToken {
    successor(of: token, attempt: attempt, generation: generation, pepper.active)
  }

  /// The same, known by a digest: it may have been made when another pepper was in use.
  func successor(
    of token: RefreshToken, attempt: String, generation: UInt32, knownBy digest: AuthDomain.Digest?
  ) -> RefreshToken {
    for pepper in pepper.all {
      let made = successor(of: token, attempt: attempt, generation: generation, pepper)
      if Self.digest(made) == digest { return made }
    }
    return successor(of: token, attempt: attempt, generation: generation)
  }

  private func successor(of token: RefreshToken, attempt: String, generation: UInt32, _ pepper: [UInt8]) -> RefreshToken {
    let head = RefreshToken.head(token.session, generation)
    let cause = attempt.isEmpty ? chance : Array(attempt.utf8)
    let code = Self.authenticationCode(attempt.isEmpty ? "chance" : "next", token.secret + head + cause, pepper)
    return self.token(token.session, generation, key: Array(code.prefix(RefreshToken.halfByteCount)), pepper)
  }

  /// Reads a token that was made here; nil for everything else.
  func read(_ text: String) -> RefreshToken? {
    guard let token = RefreshToken(text, decode: { Base64URL.decode($0) }),
      pepper.all.contains(where: {
        ConstantTime.areEqual(token.seal, Self.seal(token.session, token.generation, token.key, $0))
      })
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

  private func token(_ session: SessionID, _ generation: UInt32, key: [UInt8], _ pepper: [UInt8]) -> RefreshToken {
    RefreshToken(session: session, generation: generation, secret: key + Self.seal(session, generation, key, pepper))
  }

  private static func seal(_ session: SessionID, _ generation: UInt32, _ key: [UInt8], _ pepper: [UInt8]) -> [UInt8] {
    let code = authenticationCode("seal", RefreshToken.head(session, generation) + key, pepper)
    return Array(code.prefix(RefreshToken.halfByteCount))
  }

  /// Each use has a word of its own, so that no code serves for another.
  private static func authenticationCode(_ use: String, _ bytes: [UInt8], _ pepper: [UInt8]) -> [UInt8] {
    HMACSHA256.authenticationCode(for: Array(use.utf8) + [0] + bytes, key: pepper)
  }
}

extension RefreshToken {
  /// As the client keeps it.
  var text: String { text(encode: { Base64URL.encode($0) }) }
}
