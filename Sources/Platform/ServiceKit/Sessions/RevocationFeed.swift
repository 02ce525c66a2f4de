public import Values

/// Which sessions have ended, as a service needs to know it; whoever knows implements it.
///
/// A token outlives its session by minutes, so every call asks.
public protocol RevocationFeed: Sendable {
  /// Changes whenever another session has ended; nil while nothing was heard for so long that what is known may be old. Asked for
  /// every call, so it does not wait.
  var revision: UInt64? { get }

  /// Why a session has ended, if that is known here.
  func ending(of session: UUID) -> SessionEnding?

  /// Asks whoever knows for certain, while nothing is heard.
  ///
  /// - Returns: Why the session has ended; nil when it is alive.
  /// - Throws: ``RevocationsUnavailable`` when nobody answers: nobody is let in then.
  func ask(_ session: UUID) async throws(RevocationsUnavailable) -> SessionEnding?
}

/// Nobody can say whether a session is alive.
public struct RevocationsUnavailable: Error, Sendable, CustomStringConvertible {
  /// What it ran into, safe to log.
  public let description: String

  /// Says what it ran into.
  public init(_ description: String) { self.description = description }
}
