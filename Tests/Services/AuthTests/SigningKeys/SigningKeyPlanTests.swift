import AuthDomain
import TestRandom
import Testing
import Values

@Suite("Signing key plan")
struct SigningKeyPlanTests {
  private static let plan = SigningKeyPlan(.init())
  private static let start = Instant(seconds: 1_800_000_000)
  private static let day = 86_400

  private static func at(_ seconds: Int) -> Instant { start.advanced(by: .seconds(seconds)) }
  private static func key(_ generation: Int, _ activates: Int) -> SigningKeyTimes {
    .init(generation: generation, createdAt: at(activates - 3600), activatesAt: at(activates))
  }

  @Test("The first key signs at once")
  func first() {
    #expect(
      Self.plan.actions(for: [], at: Self.start)
        == [.create(.init(generation: 1, createdAt: Self.start, activatesAt: Self.start))])
  }

  @Test("The next key is published an hour before its first use, to the microsecond")
  func publishedAhead() {
    let keys = [Self.key(1, 0)]
    let due = Self.at(30 * Self.day - 3600)
    #expect(Self.plan.actions(for: keys, at: Instant(microseconds: due.microseconds - 1)).isEmpty)
    #expect(
      Self.plan.actions(for: keys, at: due)
        == [.create(.init(generation: 2, createdAt: due, activatesAt: Self.at(30 * Self.day)))])
  }

  @Test("After a long pause the old key goes on until the next one was published for an hour")
  func overdue() {
    let now = Self.at(200 * Self.day)
    #expect(
      Self.plan.actions(for: [Self.key(1, 0)], at: now)
        == [.create(.init(generation: 2, createdAt: now, activatesAt: now.advanced(by: .seconds(3600))))])
  }

  @Test(
    "States follow from times",
    arguments: [
      (-1, [.active, .next]), (0, [.active, .next]), (30 * 86_400 - 1, [.active, .next]), (30 * 86_400, [.retired, .active]),
      (30 * 86_400 + 899, [.retired, .active]), (30 * 86_400 + 900, [.expired, .active]),
    ] as [(Int, [SigningKeyState])])
  func states(seconds: Int, states: [SigningKeyState]) {
    #expect(Self.plan.states(of: [Self.key(1, 0), Self.key(2, 30 * Self.day)], at: Self.at(seconds)) == states)
  }

  @Test("The old public key outlives its last token by the leeway and the age of a cached key set, then it is removed")
  func removal() {
    let keys = [Self.key(1, 0), Self.key(2, 30 * Self.day)]
    #expect(Self.plan.policy.servedAfterUse == .seconds(300 + 300 + 300))
    #expect(Self.plan.actions(for: keys, at: Self.at(30 * Self.day + 899)).isEmpty)
    #expect(Self.plan.actions(for: keys, at: Self.at(30 * Self.day + 900)) == [.remove([1])])
  }

  @Test("Keys that were read an hour ago sign no more: another one may have taken over")
  func tooOldToSign() {
    #expect(Self.plan.maySign(withKeysReadAt: Self.start, at: Self.at(3599)))
    #expect(!Self.plan.maySign(withKeysReadAt: Self.start, at: Self.at(3600)))
  }

  @Test("Over ten years, at any pace, a token is always checked by a published key, and a signing key was published in time")
  func years() {
    var random = SeededRandom(0x5eed)
    var keys: [SigningKeyTimes] = []
    var removed: [Int: Instant] = [:]
    var now = Self.start
    while now < Self.at(3650 * Self.day) {
      for action in Self.plan.actions(for: keys, at: now) {
        switch action {
        case .create(let key): keys.append(key)
        case .remove(let generations):
          for generation in generations { removed[generation] = now }
          keys.removeAll { generations.contains($0.generation) }
        }
      }
      #expect(Self.plan.states(of: keys, at: now).count { $0 == .active } == 1)
      #expect(keys.count <= 3)
      now = now.advanced(by: .seconds(Int64(random.next() % 40_000)))
    }
    for key in keys where key.generation > 1 {
      #expect(key.activatesAt.duration(since: key.createdAt) >= .seconds(3600))
    }
    #expect(removed.count > 115, "seed 0x5eed")
  }
}
