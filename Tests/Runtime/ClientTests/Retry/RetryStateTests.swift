import RPC
import Testing

@testable import RPCClient

/// gRFC A6: which attempt is followed by another one, and when.
@Suite("Retry decisions")
struct RetryStateTests {
  private static func policy(_ attempts: Int = 4, multiplier: Double = 2, most: Duration = .seconds(10)) -> RetryPolicy {
    RetryPolicy(
      maximumAttempts: attempts, initialBackoff: .seconds(1), maximumBackoff: most, backoffMultiplier: multiplier,
      retryableCodes: [.unavailable, .aborted])
  }

  private func state(_ policy: RetryPolicy?, _ throttle: RetryThrottle? = nil, jitter: Double = 1) -> RetryState {
    RetryState(policy, throttle) { range in
      #expect(range == 0.8...1.2)
      return jitter
    }
  }

  @Test("A policy allows so many attempts in all, and the waits grow up to the longest")
  func growth() {
    var state = state(Self.policy(5, most: .seconds(3)))
    let waits: [Duration] = [.seconds(1), .seconds(2), .seconds(3), .seconds(3)]
    for (index, wait) in waits.enumerated() {
      #expect(state.previousAttempts == index && state.mayRetry)
      #expect(state.failed(.unavailable, .none, .processed) == .again(after: wait))
    }
    #expect(!state.mayRetry)
    #expect(state.failed(.unavailable, .none, .processed) == .fail)
  }

  @Test("A wait strays from its length by a fifth at most", arguments: [0.8, 1.2])
  func jitter(_ factor: Double) {
    var state = state(Self.policy(), jitter: factor)
    #expect(state.failed(.unavailable, .none, .processed) == .again(after: .seconds(factor)))
  }

  @Test("The longest wait bounds the first one too, and a multiplier below one shortens them")
  func bounds() {
    var short = state(Self.policy(most: .milliseconds(500)))
    #expect(short.failed(.unavailable, .none, .processed) == .again(after: .milliseconds(500)))
    var shrinking = state(Self.policy(multiplier: 0.5))
    #expect(shrinking.failed(.unavailable, .none, .processed) == .again(after: .seconds(1)))
    #expect(shrinking.failed(.unavailable, .none, .processed) == .again(after: .milliseconds(500)))
  }

  @Test("A code that the policy does not name, headers that have come, or no policy end the call")
  func ends() {
    var other = state(Self.policy())
    #expect(other.failed(.internal, .none, .processed) == .fail)
    var committed = state(Self.policy())
    #expect(committed.failed(.unavailable, .none, .committed) == .fail)
    var plain = state(nil)
    #expect(!plain.mayRetry)
    #expect(plain.failed(.unavailable, .none, .processed) == .fail)
  }

  @Test("A server's own wait is taken as it is, and the backoff starts anew after it")
  func pushback() {
    var state = state(Self.policy(5))
    #expect(state.failed(.unavailable, .none, .processed) == .again(after: .seconds(1)))
    #expect(state.failed(.aborted, .after(.milliseconds(7)), .processed) == .again(after: .milliseconds(7)))
    #expect(state.failed(.unavailable, .none, .processed) == .again(after: .seconds(1)))
    #expect(state.failed(.unavailable, .after(.zero), .processed) == .again(after: .zero))
    #expect(state.previousAttempts == 4)
    #expect(state.failed(.unavailable, .after(.zero), .processed) == .fail)
  }

  @Test("A server that wants no further attempt gets none, and its wait does not make a code retryable")
  func stop() {
    var state = state(Self.policy())
    #expect(state.failed(.internal, .after(.zero), .processed) == .fail)
    #expect(state.failed(.unavailable, .stop, .processed) == .fail)
  }

  @Test("What a server has refused unseen is tried again once without a policy, and then as the policy says")
  func refused() {
    var plain = state(nil)
    #expect(plain.failed(.unavailable, .none, .refused) == .again(after: .zero))
    #expect(plain.failed(.unavailable, .none, .refused) == .fail)
    var bound = state(Self.policy(2))
    #expect(bound.failed(.unavailable, .none, .refused) == .again(after: .zero))
    #expect(bound.previousAttempts == 0)
    #expect(bound.failed(.unavailable, .none, .refused) == .again(after: .seconds(1)))
    #expect(bound.failed(.unavailable, .none, .processed) == .fail)
  }

  @Test("What never left is tried as often as it takes, after short pauses from the second time on")
  func neverSent() {
    var plain = state(nil)
    #expect(plain.failed(.unavailable, .none, .neverSent) == .again(after: .zero))
    for _ in 0..<100 { #expect(plain.failed(.unavailable, .none, .neverSent) == .again(after: .milliseconds(10))) }
    #expect(plain.previousAttempts == 0)
  }

  @Test(
    "The pushback trailer is a number of milliseconds; anything else means no",
    arguments: [
      (nil, RetryPushback.none), ("0", .after(.zero)), ("1500", .after(.milliseconds(1_500))),
      ("2147483647", .after(.milliseconds(2_147_483_647))), ("2147483648", .stop), ("-1", .stop), ("", .stop), ("1.5", .stop),
      ("soon", .stop), ("+1", .stop), (" 1", .stop),
    ] as [(String?, RetryPushback)])
  func pushbackText(_ text: String?, _ expected: RetryPushback) { #expect(RetryPushback(text) == expected) }
}

/// gRFC A6: retry throttling.
@Suite("Retry throttling")
struct RetryThrottleTests {
  @Test("No retry while half of the tokens or fewer are left, and successes bring them back")
  func half() {
    let throttle = RetryThrottle(RetryThrottling(maximumTokens: 10, tokenRatio: 0.5))
    for _ in 0..<4 { #expect(throttle.failed()) }
    // Five of ten are left.
    #expect(!throttle.failed())
    throttle.succeeded()
    throttle.succeeded()
    // Six less one is five.
    #expect(!throttle.failed())
    for _ in 0..<3 { throttle.succeeded() }
    // Six and a half less one is more than five.
    #expect(throttle.failed())
  }

  @Test("There are never fewer than none nor more than the most")
  func ends() {
    let throttle = RetryThrottle(RetryThrottling(maximumTokens: 2, tokenRatio: 1))
    for _ in 0..<10 { #expect(!throttle.failed()) }
    for _ in 0..<3 { throttle.succeeded() }
    // Two less one is half.
    #expect(!throttle.failed())
    let odd = RetryThrottle(RetryThrottling(maximumTokens: 3, tokenRatio: 0.001))
    #expect(odd.failed())
    #expect(!odd.failed())
  }

  @Test("A failure that the policy does not name costs nothing, a refusal of further attempts costs a token")
  func cost() {
    let throttle = RetryThrottle(RetryThrottling(maximumTokens: 4, tokenRatio: 0.001))
    let policy = RetryPolicy(
      maximumAttempts: 5, initialBackoff: .seconds(1), maximumBackoff: .seconds(1), backoffMultiplier: 1,
      retryableCodes: [.unavailable])
    var state = RetryState(policy, throttle)
    for _ in 0..<10 { #expect(state.failed(.internal, .none, .processed) == .fail) }
    #expect(state.failed(.internal, .stop, .processed) == .fail)
    // Three of four are left: the next failure reaches half.
    #expect(state.failed(.unavailable, .none, .processed) == .fail)
  }
}
