extension LimitKey {
  /// The bucket of a client address for sign-ins.
  public static func signIn(from address: String) -> LimitKey { LimitKey(text: "signin-ip:\(address)") }

  /// The bucket of a client address for refreshes.
  public static func refresh(from address: String) -> LimitKey { LimitKey(text: "refresh-ip:\(address)") }

  /// The bucket of a session for refreshes.
  public static func refresh(of session: SessionID) -> LimitKey { LimitKey(text: "refresh:\(session)") }

  /// The bucket of an account for what its sessions ask.
  public static func account(_ user: UserID) -> LimitKey { LimitKey(text: "account:\(user)") }

  /// The bucket of an account for exports.
  public static func export(of user: UserID) -> LimitKey { LimitKey(text: "export:\(user)") }

  /// The bucket of a client address for questions with a receipt.
  public static func receipt(from address: String) -> LimitKey { LimitKey(text: "receipt-ip:\(address)") }
}
