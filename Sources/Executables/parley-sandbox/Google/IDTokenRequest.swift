import JSON

/// An ID token of Google that somebody wishes for.
enum IDTokenRequest {
  static let issuer = "https://accounts.google.com"
  /// The fields of the control request.
  static let names = WishedToken.names.union(["email", "hd", "azp", "name", "givenName"])

  /// Reads a wish.
  static func read(_ request: ControlRequest) throws(ControlRequest.Fault) -> WishedToken {
    var wish = try WishedToken(request, issuer: issuer)
    if let email = try request.text("email") {
      wish.claims["email"] = .string(email)
      wish.claims["email_verified"] = true
    }
    for (field, claim) in [("hd", "hd"), ("azp", "azp"), ("name", "name"), ("givenName", "given_name")] {
      if let text = try request.text(field) { wish.claims[claim] = .string(text) }
    }
    return wish
  }
}
