import AuthDomain
import Glibc
import TestRandom
import TestSupport
import Testing
import Values

@Suite("Refreshing, played at random")
struct RefreshPropertyTests {
  /// How many interleavings: a tenth of what `make property` plays, because tests are built for debugging.
  static var count: Int { getenv("PARLEY_PROPERTY_RUNS").flatMap { Int(String(cString: $0)) } ?? 100_000 }

  static var seed: UInt64 {
    getenv("PARLEY_PROPERTY_SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...UInt64.max)
  }

  @Test(
    "AUTH-M2, AUTH-M3: an honest app never loses its session, and never lives on beside a thief",
    arguments: [RefreshPropertyTests.seed])
  func interleavings(seed: UInt64) async {
    print("refresh property: seed \(seed), \(Self.count) interleavings")
    var ends = 0
    var tokens = 0
    var rotations = 0
    for number in 0..<Self.count {
      // The tests' own threads are few.
      if number % 1000 == 0 { await Task.yield() }
      let outcome = Self.play(seed: seed &+ UInt64(number))
      if let violation = outcome.violation {
        Issue.record("seed \(seed), interleaving \(number): \(violation)")
        return
      }
      ends += outcome.isOver ? 1 : 0
      tokens += outcome.tokens
      rotations += outcome.keys > 1 ? 1 : 0
    }
    print("refresh property: \(tokens) tokens, \(ends) ends, \(rotations) with another signing key")
    // What never hands out a token, never catches anybody or never changes a key proves nothing.
    #expect(tokens > Self.count && ends > Self.count / 100 && rotations > Self.count / 100)
  }

  @Test(
    "The properties notice a service that breaks them", arguments: RefreshFault.allCases)
  func faults(fault: RefreshFault) {
    let found = (0..<20_000).contains { Self.play(seed: UInt64($0), fault: fault).violation != nil }
    #expect(found)
  }

  /// Plays one interleaving on the pure state machine.
  static func play(seed: UInt64, fault: RefreshFault? = nil) -> (violation: String?, isOver: Bool, tokens: Int, keys: Int) {
    var random = SeededRandom(seed)
    var world = RefreshWorld(hasThief: random.below(2) == 0)
    var policy = KeyRotationWorld.policy
    // As if nobody knew how long tokens are good for.
    if fault == .forgetsKeysEarly { (policy.leeway, policy.keySetLifetime) = (.seconds(-150), .seconds(-150)) }
    var keys = KeyRotationWorld(policy)
    var state = RefreshState(first: digest(0), at: Instant(microseconds: world.now), rules: RefreshWorld.rules)
    var tokens = 0
    for _ in 0..<32 {
      switch world.next(&random) {
      case .show(let generation, let attempt, let actor):
        let answer = show(generation, attempt, &state, at: world.now, fault)
        if case .token = answer {
          tokens += 1
          keys.sign(random.below(3), at: Instant(microseconds: world.now))
        }
        world.accept(answer, to: generation, by: actor)
      case .revoke: state.end(.revoked)
      case .rotateKeys: keys.read(random.below(3), at: Instant(microseconds: world.now))
      case .pause: keys.check(random.below(3), at: Instant(microseconds: world.now))
      }
      if let violation = keys.violation { return (violation, world.isOver, tokens, keys.generations) }
      if world.isOver || world.violation != nil { break }
    }
    if world.mustLive {
      let generation = world.wakeUp()
      guard case .token = show(generation, 0, &state, at: world.now, fault) else {
        return ("the honest app cannot go on", world.isOver, tokens, keys.generations)
      }
    }
    return (world.violation, world.isOver, tokens, keys.generations)
  }

  private static func digest(_ generation: UInt32) -> Digest { Digest(UInt64(generation), 0, 0, 0) }

  private static func show(
    _ generation: Int, _ attempt: UInt64, _ state: inout RefreshState, at now: Int64, _ fault: RefreshFault?
  ) -> RefreshWorld.Answer {
    var rules = RefreshWorld.rules
    switch fault {
    case .noRace: rules.raceWindow = .zero
    default: break
    }
    if fault == .toleratesReuse, state.end == nil, generation < Int(state.current.generation) {
      state = RefreshState(
        current: state.current,
        spent: .init(digest: digest(UInt32(generation)), attempt: nil, at: Instant(microseconds: 0)), expiresAt: state.expiresAt,
        endsAt: state.endsAt, end: nil)
    }
    let spentBefore = state.spent
    let action = state.present(
      generation: UInt32(generation), digest: digest(UInt32(generation)), attempt: attempt == 0 ? nil : Digest(attempt, 1, 0, 0),
      at: Instant(microseconds: now), rules: rules, successor: digest)
    if fault == .forgetsRepeats, case .repeatAnswer = action {
      state = RefreshState(
        current: state.current, spent: spentBefore, expiresAt: state.expiresAt, endsAt: state.endsAt, end: nil)
    }
    switch action {
    case .handOut(let generation): return .token(generation: Int(generation), isRepeated: false)
    case .repeatAnswer(let generation): return .token(generation: Int(generation), isRepeated: true)
    case .race: return .raced
    case .end(let cause), .ended(let cause): return .ended(cause)
    case .unknown: return .unknown
    }
  }
}

/// Ways in which a service could be wrong.
enum RefreshFault: CaseIterable {
  /// Every second attempt with a token is helped out at once.
  case noRace
  /// An answer that was given again may be a trap before it arrives.
  case forgetsRepeats
  /// Whoever shows an old token gets a new one.
  case toleratesReuse
  /// A signing key is forgotten as soon as another one signs.
  case forgetsKeysEarly
}
