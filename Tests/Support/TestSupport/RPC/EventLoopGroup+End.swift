public import EventLoop

extension EventLoopGroup {
  /// Ends the loops for a test that goes on: on a thread of its own, since nobody may wait for a loop's end on a loop.
  public func end() async {
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
