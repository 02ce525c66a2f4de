/// Who knows the signed-in person's Google ID token: the app, by way of Google's sign-in library.
public protocol IDTokenProviding: Sendable {
  /// The ID token at hand, expired or not; nil when nobody is signed in.
  func currentIDToken() async throws -> String?

  /// A new ID token from Google, without showing anything; nil when that takes a sign-in.
  func refreshedIDToken() async throws -> String?
}
