internal import CShims
internal import Glibc

/// A thread of the process that runs one body and can be waited for.
public final class LoopThread {
  private var handle = pthread_t()

  /// Starts a thread; `name` is what thread lists show (15 bytes).
  public init(name: String, _ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(
      Start {
        name.withCString { parley_name_thread($0) }
        body()
      })
    let result = pthread_create(
      &handle, nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, start.toOpaque())
    precondition(result == 0, "pthread_create failed: \(result)")
  }

  /// Waits until the body has returned. To be called once.
  public func join() { pthread_join(handle, nil) }

  private final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}

// SAFETY: written once in `init`, before anybody else can see it.
extension LoopThread: @unchecked Sendable {}
