/// What a task that listens is told; see ``Database/listen(to:_:)``.
public enum Heard: Sendable, Hashable {
  /// From now on notifications arrive. It comes at first and after every interruption: what was notified in between is lost, so
  /// look for yourself.
  case listening
  /// Somebody's transaction that notified a channel has been committed.
  case notification(channel: String, payload: String)
}
