import JOSE

/// The keys that a provider signs with, and which of them the world can see.
struct PublishedKeys: Sendable {
  /// The one that signs.
  private(set) var current: SigningKey
  /// Those in the public document; the one that signs comes first.
  private(set) var published: [SigningKey]

  /// One key, published.
  init(_ key: SigningKey) {
    current = key
    published = [key]
  }

  /// Signs with `key` from now on. The former key stays published beside it, as providers do it, or is taken back at once.
  mutating func rotate(to key: SigningKey, withdrawingOld: Bool) {
    published = withdrawingOld ? [key] : [key, current]
    current = key
  }

  /// The document that publishes them.
  var document: [UInt8] { JWKSet(published.map(\.publicKey)).encoded() }
}
