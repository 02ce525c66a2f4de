/// Pauses that double, with full jitter: each is drawn between half and all of its step, so that loops and processes that lost
/// the server together do not come back together.
struct Backoff {
  private let longest: Duration
  private var step = Backoff.first
  private static let first = Duration.milliseconds(50)

  init(longest: Duration) { self.longest = longest }

  mutating func reset() { step = Self.first }

  mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
    defer { step = min(step * 2, longest) }
    return step * Double.random(in: 0.5...1, using: &random)
  }

  mutating func next() -> Duration {
    var random = SystemRandomNumberGenerator()
    return next(using: &random)
  }
}
