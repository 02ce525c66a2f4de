public import OpenID

extension KeySource {
  /// Google's own key set.
  public static let google = KeySource.keySet(url: "https://www.googleapis.com/oauth2/v3/certs")
}
