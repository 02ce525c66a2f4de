public import EventLoop
public import RPC

extension RPCError: StoppedLoopReporting {
  /// What a call fails with whose loop has ended.
  public init(stopped error: EventLoopError) { self.init(.unavailable, error.message, cause: error) }
}
