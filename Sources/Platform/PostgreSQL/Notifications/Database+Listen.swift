internal import EventLoop

extension Database {
  /// Listens to channels on a connection of its own, until the calling task is cancelled or the loop ends.
  ///
  /// ```swift
  /// await database.listen(to: ["jobs"]) { _ in bell.ring() }
  /// ```
  /// A notification is a hint that may be lost, with the connection or with the server: whoever depends on what it says looks by
  /// itself now and then, and whenever it hears ``Heard/listening``.
  ///
  /// - Parameters:
  ///   - channels: Their names, as `pg_notify` gets them.
  ///   - hear: Called on the first loop. It must not block.
  public func listen(to channels: [String], _ hear: @escaping @Sendable (Heard) -> Void) async {
    let part = parts[0]
    let connection = ListeningConnection(configuration, channels, part: part, hear)
    // All of it on the loop, which wakes its sleepers before it ends, so that the connection is closed there in any case.
    await part.loop.visit(ifStopped: ()) {
      connection.open()
      // Ends by cancellation, or when the loop is stopped.
      while (try? await part.loop.sleep(for: .seconds(3600))) != nil {}
      connection.close()
    }
  }
}
