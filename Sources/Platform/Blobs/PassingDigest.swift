internal import JOSE
internal import Synchronization

/// SHA-256 of pieces as they pass one reader, whichever task it is in.
final class PassingDigest: Sendable {
  private let hash = Mutex(RunningSHA256())

  func update(_ bytes: [UInt8]) { hash.withLock { $0.update(bytes) } }

  /// The digest of all pieces; to be asked for once, at their end.
  func finish() -> [UInt8] { hash.withLock { $0.finish() } }
}
