internal import ParleyAPI
internal import PostgreSQL
public import RPC
public import ServiceKit
public import Values
internal import WellKnown

/// Whether people have paid, as the auth service says. A "yes" is remembered for as long as it says; for a "no" it is asked each time,
/// since the purchase may come any second. Where it does not answer, nobody is let in.
public final class AskedEntitlements: EntitlementChecking {
  /// Longer than the auth service waits for RevenueCat while a call waits.
  private static let answerTime = Duration.seconds(5)

  private let directory: EntitlementDirectoryService.Client
  private let clock: WallClock
  private let remembered = RememberedEntitlements<UUID, Duration>()

  /// Nobody is known yet.
  ///
  /// - Parameters:
  ///   - channel: The way to the auth service, as a client that may call methods of SERVICE access.
  ///   - clock: The time of day.
  public init(over channel: any Channel, clock: WallClock) {
    directory = EntitlementDirectoryService.Client(channel)
    self.clock = clock
  }

  /// As ``ServiceKit/EntitlementChecking/isEntitled(_:)``.
  public func isEntitled(_ caller: Caller) async throws -> Bool {
    let user = caller.userID
    if remembered.validity(of: user, at: clock.now()) != nil { return true }
    let answer = try await directory.checkEntitlement(
      .init(userID: user.description), options: .timeout(Self.answerTime))
    guard answer.isEntitled else { return false }
    if let until = answer.validUntil {
      remembered.remember(user, until: .seconds(until.seconds) + .nanoseconds(Int64(until.nanos)), at: clock.now())
    }
    return true
  }

  /// The product of somebody's running subscription, as the auth service says at this moment.
  ///
  /// - Parameter user: The account, whoever asks: there needs not be a call of theirs.
  /// - Returns: What the store calls it, empty where that is not known; nil where no subscription runs.
  /// - Throws: `RPCError` where nobody can say.
  public func product(of user: UUID) async throws(RPCError) -> String? {
    let answer = try await directory.checkEntitlement(
      .init(userID: user.description, withProduct: true), options: .timeout(Self.answerTime))
    return answer.isEntitled ? answer.productID : nil
  }
}
