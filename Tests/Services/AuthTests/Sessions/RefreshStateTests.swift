import AuthDomain
import Testing
import Values

@Suite("What becomes of a refresh token that is shown")
struct RefreshStateTests {
  private static let start = Instant(seconds: 1_800_000_000)
  private static let rules = RefreshRules()

  /// A session whose tokens are known by their generation and the branch they were made on.
  private final class Play {
    var state = RefreshState(first: Digest(0, 0, 0, 0), at: start, rules: rules)
    var now = start

    func show(_ generation: UInt32, _ attempt: UInt64 = 0, after pause: Duration = .seconds(1)) -> RefreshState.Action {
      now = now.advanced(by: pause)
      return state.present(
        generation: generation, digest: Digest(UInt64(generation), 0, 0, 0),
        attempt: attempt == 0 ? nil : Digest(attempt, 0, 0, 0),
        at: now, rules: rules, successor: { Digest(UInt64($0), 0, 0, 0) })
    }
  }

  @Test("B-46: the current token is exchanged, whatever the attempt")
  func exchange() {
    let play = Play()
    #expect(play.show(0) == .handOut(generation: 1))
    #expect(play.show(1, 7) == .handOut(generation: 2))
    #expect(play.state.spent?.attempt == Digest(7, 0, 0, 0))
  }

  @Test("AUTH-M2: a lost answer is given again to the same attempt, however late")
  func lostAnswer() {
    let play = Play()
    #expect(play.show(0, 7) == .handOut(generation: 1))
    for pause: Duration in [.zero, .seconds(9), .seconds(60), .seconds(86_400 * 29)] {
      #expect(play.show(0, 7, after: pause) == .repeatAnswer(generation: 1))
    }
    #expect(play.show(1, 8, after: .zero) == .handOut(generation: 2))
    #expect(play.show(0, 7) == .end(.refreshReused))
  }

  @Test("AUTH-M2: an answer that is given again is no trap before it can have arrived")
  func repeatedAnswer() {
    let play = Play()
    #expect(play.show(0, 7) == .handOut(generation: 1))
    #expect(play.show(0, 7, after: .seconds(300)) == .repeatAnswer(generation: 1))
    #expect(play.show(0, 8, after: .seconds(1)) == .race(retryAfter: .seconds(9)))
    #expect(play.show(1) == .handOut(generation: 2))
  }

  @Test("AUTH-M2: another attempt within the race window gets nothing and ends nothing", arguments: [UInt64(0), 9])
  func race(attempt: UInt64) {
    let play = Play()
    #expect(play.show(0, 7) == .handOut(generation: 1))
    #expect(play.show(0, attempt, after: .zero) == .race(retryAfter: .seconds(10)))
    #expect(play.show(0, attempt, after: .microseconds(9_999_999)) == .race(retryAfter: .microseconds(1)))
    #expect(play.show(1) == .handOut(generation: 2))
  }

  @Test("A copy whose clock is behind by less than the race window sees a race all the same")
  func clockBehind() {
    let play = Play()
    #expect(play.show(0, 7) == .handOut(generation: 1))
    #expect(play.show(0, 8, after: .microseconds(-9_999_999)) == .race(retryAfter: .microseconds(19_999_999)))
    #expect(play.show(0, 8, after: .microseconds(-1)) == .handOut(generation: 2))
  }

  @Test("AUTH-M2: after the race window the token gets a new successor, and the lost one is a trap", arguments: [UInt64(0), 9])
  func recovery(attempt: UInt64) {
    let play = Play()
    #expect(play.show(0, 7) == .handOut(generation: 1))
    #expect(play.show(0, attempt, after: .seconds(10)) == .handOut(generation: 2))
    let other = Play()
    (other.state, other.now) = (play.state, play.now)
    #expect(play.show(1) == .end(.refreshReused))
    #expect(play.show(2) == .ended(.refreshReused))
    #expect(other.show(2) == .handOut(generation: 3))
    #expect(other.show(1) == .end(.refreshReused))
  }

  @Test("AUTH-M2: a token two or more behind ends the session", arguments: [1, 2, 5])
  func reuse(behind: UInt32) {
    let play = Play()
    for generation in 0...behind { #expect(play.show(generation) == .handOut(generation: generation + 1)) }
    #expect(play.show(0) == .end(.refreshReused))
    #expect(play.state.end == .refreshReused)
    #expect(play.show(behind + 1) == .ended(.refreshReused))
  }

  @Test("A generation that was never reached changes nothing")
  func never() {
    let play = Play()
    #expect(play.show(5) == .unknown)
    #expect(play.show(0) == .handOut(generation: 1))
  }

  @Test("A session ends when it is idle for too long, and in any case after its whole life")
  func expiry() {
    let idle = Play()
    #expect(idle.show(0, after: .seconds(30 * 86_400) - .microseconds(1)) == .handOut(generation: 1))
    #expect(idle.show(1, after: .seconds(30 * 86_400)) == .end(.expired))
    #expect(idle.show(1) == .ended(.expired))
    let busy = Play()
    for generation in 0..<36 as Range<UInt32> {
      #expect(busy.show(generation, after: .seconds(10 * 86_400)) == .handOut(generation: generation + 1))
    }
    #expect(busy.state.expiresAt == Self.start.advanced(by: .seconds(365 * 86_400)))
    #expect(busy.show(36, after: .seconds(5 * 86_400) - .microseconds(1)) == .handOut(generation: 37))
    #expect(busy.show(37, after: .microseconds(1)) == .end(.expired))
  }

  @Test("The last generation is not exceeded")
  func lastGeneration() {
    var state = RefreshState(
      current: .init(generation: .max, digest: Digest(1, 0, 0, 0)), spent: nil, expiresAt: Self.start.advanced(by: .seconds(60)),
      endsAt: Self.start.advanced(by: .seconds(60)), end: nil)
    let action = state.present(
      generation: .max, digest: Digest(1, 0, 0, 0), attempt: nil, at: Self.start, rules: Self.rules,
      successor: { Digest(UInt64($0), 0, 0, 0) })
    #expect(action == .end(.expired))
  }

  @Test("Whoever ends a session first gives the cause", arguments: SessionEnd.allCases)
  func cause(cause: SessionEnd) {
    let play = Play()
    let results = [play.state.end(cause), play.state.end(.signedOut)]
    #expect(results == [true, false])
    #expect(play.show(0) == .ended(cause))
    #expect(!cause.reason.isEmpty && cause.refusal.reason == cause.reason)
  }
}
