import EventLoop

/// The course of one exchange: what the driver says goes in, and what our side answers is read as it comes.
struct Talk {
  private let loop: EventLoop
  private let view: PeerView
  private let isDeaf: Bool
  private let frameBytes: Int

  /// - Parameters:
  ///   - isDeaf: Whether nothing is read before ``hear(from:)``.
  ///   - frames: What will be said: SETTINGS among it may allow longer frames.
  init(loop: EventLoop, view: PeerView, isDeaf: Bool, _ frames: [Frame]) {
    self.loop = loop
    self.view = view
    self.isDeaf = isDeaf
    frameBytes = frames.contains { $0.type == Frame.settings } ? 0xff_ffff : 16_384
  }

  /// Says some bytes, as far as our side takes them.
  ///
  /// - Returns: Whether our side still listens.
  @discardableResult
  func say(_ bytes: [UInt8], through end: borrowing SocketEnd) -> Bool {
    bytes.withUnsafeBytes { all in
      var rest = all
      var refusals = 0
      while !rest.isEmpty && refusals < 3 {
        guard let count = end.send(rest) else { return false }
        refusals = count == 0 ? refusals + 1 : 0
        rest = rest.from(count)
        require(loop.drive(), "the loop does not come to rest")
        if !isDeaf { hear(from: end) }
      }
      return true
    }
  }

  /// Reads until our side has nothing more to say.
  func hear(from end: borrowing SocketEnd) {
    var hasHeard = true
    var isClosed = false
    var rounds = 0
    while hasHeard && !isClosed {
      hasHeard = false
      isClosed = end.receive { bytes in
        hasHeard = true
        view.read(bytes, frameBytes: frameBytes)
      }
      require(loop.drive(), "the loop does not come to rest")
      rounds += 1
      require(rounds < 10_000, "our side never stops talking")
    }
  }
}
