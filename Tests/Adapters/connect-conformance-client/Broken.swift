import Synchronization

/// The first error of a call that is no call's own: nobody reads the answers any more.
final class Broken: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  func note(_ error: any Error) { self.error.withLock { $0 = $0 ?? error } }

  func check() throws { if let error = error.withLock({ $0 }) { throw error } }
}
