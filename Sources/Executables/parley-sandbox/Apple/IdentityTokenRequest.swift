import JSON

/// An identity token of Apple that somebody wishes for.
enum IdentityTokenRequest {
  static let issuer = "https://appleid.apple.com"
  /// How long Apple's identity tokens live, in seconds.
  static let lifetime: Int64 = 86_400
  /// The fields of the control request.
  static let names = WishedToken.names.union(["email", "privateEmail", "stringBooleans", "nonceSupported", "realUserStatus"])

  /// Reads a wish.
  static func read(_ request: ControlRequest) throws(ControlRequest.Fault) -> WishedToken {
    var wish = try WishedToken(request, issuer: issuer, lifetime: lifetime)
    // Apple writes its truth values in both ways.
    let asText = try request.flag("stringBooleans")
    let flag = { (value: Bool) -> JSONValue in asText ? .string(value ? "true" : "false") : .bool(value) }
    if let email = try request.text("email") {
      wish.claims["email"] = .string(email)
      wish.claims["email_verified"] = flag(true)
      if try request.flag("privateEmail") { wish.claims["is_private_email"] = flag(true) }
    }
    wish.claims["nonce_supported"] = flag(try request.optionalFlag("nonceSupported") ?? true)
    if let status = try request.integer("realUserStatus", in: 0...2) {
      wish.claims["real_user_status"] = .number(JSONNumber(status))
    }
    return wish
  }
}
