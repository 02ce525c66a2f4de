internal import Synchronization

/// The TLS context that new connections begin with, which may be renewed while a server runs.
///
/// A listener asks once per connection, so a renewal holds from the next connection on, on every loop; connections that are open
/// keep the context that they began with, which lives as long as the last of them.
public final class TLSContextSource: Sendable {
  private let context: Mutex<TLSContext>

  /// A source that begins with `context`, a server's.
  public init(_ context: TLSContext) { self.context = Mutex(context) }

  /// What a connection that is opened now begins with. May be asked from any thread.
  public var current: TLSContext { context.withLock { $0 } }

  /// Takes `context` for all connections from now on. May be called from any thread.
  public func replace(with context: TLSContext) { self.context.withLock { $0 = context } }
}
