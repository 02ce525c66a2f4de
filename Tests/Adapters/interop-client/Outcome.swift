import Synchronization

/// How the case ended, across threads.
final class Outcome: Sendable {
  private let value = Mutex<String?>("it did not run")

  /// Why it failed, or nil.
  var failure: String? { value.withLock { $0 } }

  func set(_ failure: String?) { value.withLock { $0 = failure } }
}
