/// The cause of the error that sending on a call throws which the server has already ended with success: it wants no more
/// requests, and its response can be read.
public struct CallHasEnded: Error, Sendable {
  /// The cause.
  public init() {}
}
