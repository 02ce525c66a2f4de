/// Withdraws, at a provider, what a person has granted the app there. Part of an account's deletion, which asks again and again until
/// it has worked.
public protocol ProviderGrantRevoking: Sendable {
  /// The provider's name, as reports show it: a-z and digits.
  var provider: String { get }

  /// Withdraws all that the account has there. A call for an account that has nothing there, or nothing any more, succeeds.
  ///
  /// - Returns: How many grants this call has withdrawn.
  /// - Throws: When the provider did not take all of them back; the next call goes on.
  func revokeGrants(of user: UserID) async throws -> Int
}
