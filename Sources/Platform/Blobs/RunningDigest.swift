internal import JOSE
internal import Synchronization

/// SHA-256 of pieces as they pass, for one reader.
final class RunningDigest: Sendable {
  private let state = Mutex(SHA256.Running())

  func add(_ bytes: [UInt8]) { state.withLock { $0.add(bytes) } }

  /// The digest of all pieces so far.
  func digest() -> [UInt8] { state.withLock { $0.digest() } }
}
