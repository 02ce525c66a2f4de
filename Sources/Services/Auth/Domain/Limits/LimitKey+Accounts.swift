extension LimitKey {
  /// The bucket of a client address for sign-ins.
  public static func signIn(from address: String) -> LimitKey { LimitKey(text: "signin-ip:\(address)") }

  /// The bucket of a client address for refreshes.
  public static func refresh(from address: String) -> LimitKey { LimitKey(text: "refresh-ip:\(address)") }

  /// The bucket of a client address for what providers post about accounts.
  public static func notices(from address: String) -> LimitKey { LimitKey(text: "notice-ip:\(address)") }

  /// The bucket of an account for questions that RevenueCat is asked.
  public static func billing(of user: UserID) -> LimitKey { LimitKey(text: "billing:\(user)") }

  /// The one bucket of all questions that RevenueCat is asked, by whichever copy of the service.
  public static let revenueCat = LimitKey(text: "revenuecat")

  /// The bucket of a session for refreshes.
  public static func refresh(of session: SessionID) -> LimitKey { LimitKey(text: "refresh:\(session)") }

  /// The bucket of an account for what its sessions change: of methods whose options limit them by the name `account`.
  public static func account(_ user: UserID) -> LimitKey { LimitKey(text: "account:\(user)") }

  /// The bucket of an account for exports.
  public static func export(of user: UserID) -> LimitKey { LimitKey(text: "export:\(user)") }

  /// The buckets that bear an account's name.
  public static func all(of user: UserID) -> [LimitKey] { [account(user), export(of: user), billing(of: user)] }

  /// The bucket of a client address for questions with a receipt.
  public static func receipt(from address: String) -> LimitKey { LimitKey(text: "receipt-ip:\(address)") }
}
