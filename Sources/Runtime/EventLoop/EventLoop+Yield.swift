extension EventLoop {
  /// Suspends the calling task until everything else on its loop has had its turn: the other tasks, what is to be written, and
  /// whoever waits for a descriptor.
  ///
  /// What `Task.yield()` does, which asks the concurrency runtime for it and costs several times as much; off a loop it is just that.
  public static func yield() async {
    guard let loop = current else { return await Task.yield() }
    await withUnsafeContinuation { loop.yielding.append($0) }
  }
}
