public import OpenID

extension KeySource {
  /// Apple's own key set.
  public static let apple = KeySource.keySet(url: "https://appleid.apple.com/auth/keys")
}
