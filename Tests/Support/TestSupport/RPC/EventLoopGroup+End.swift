public import EventLoop
internal import Synchronization

extension EventLoopGroup {
  /// What nobody can take apart any more, since only its loops may.
  private static let left = Mutex<[any Sendable]>([])

  /// Ends the loops for a test that goes on: on a thread of its own, since nobody may wait for a loop's end on a loop.
  ///
  /// - Parameter left: What had work under way on the loops, and is kept from here on: a leak detector would call it lost.
  public func end(leaving left: any Sendable...) async {
    Self.left.withLock { $0 += left + [self] }
    var ending: LoopThread?
    await withCheckedContinuation { continuation in
      ending = LoopThread(name: "ending") {
        self.shutDown()
        continuation.resume()
      }
    }
    ending?.join()
  }
}
