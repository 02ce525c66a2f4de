import AuthDomain
import EventLoop
import Glibc
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import TestRandom
import TestSupport
import Testing
import Values

@Suite("Refreshing, played at random through three instances", .serialized)
struct InstancePropertyTests {
  /// How many sessions are played side by side: they share the time of day.
  private static let lanes = 16

  @Test(
    "AUTH-M2, AUTH-M3: through three instances on one database an honest app never loses its session, nor lives on beside a thief",
    arguments: [RefreshPropertyTests.seed])
  func interleavings(seed: UInt64) async throws {
    // `make property` says how many and sets no time; in every other run a few seconds must do.
    let wanted = getenv("PARLEY_PROPERTY_INSTANCE_RUNS").flatMap { Int(String(cString: $0)) }
    try await ServiceTrio.with { trio in
      let end = MonotonicInstant.now().advanced(by: wanted == nil ? .seconds(6) : .seconds(7200))
      var played = Tally()
      repeat {
        let first = played.interleavings
        let batch = RefreshBatch(trio, seed: seed &+ UInt64(first), count: min(Self.lanes, (wanted ?? .max) - first))
        let outcome = try await batch.play()
        for violation in outcome.violations { Issue.record("seed \(seed), interleaving \(first) and on: \(violation)") }
        played.add(outcome.tally)
        if !outcome.violations.isEmpty { return }
      } while played.interleavings < wanted ?? .max && MonotonicInstant.now() < end
      let keys = try await trio.database.value("select max(generation)::bigint from auth.signing_key", as: Int.self) ?? 0
      print("refresh property through three instances: seed \(seed), \(played), \(keys) signing keys")
      // What never hands out a token proves nothing.
      #expect(played.tokens >= played.interleavings && played.checks > 0)
      if let wanted { #expect(played.interleavings == wanted && played.ends > wanted / 100 && keys > 1) }
    }
  }

  /// What was played.
  struct Tally: CustomStringConvertible {
    var interleavings = 0
    var refreshes = 0
    var tokens = 0
    var checks = 0
    var ends = 0

    var description: String {
      "\(interleavings) interleavings, \(refreshes) refreshes, \(tokens) tokens, \(checks) calls with a session, \(ends) ends"
    }

    mutating func add(_ other: Tally) {
      interleavings += other.interleavings
      refreshes += other.refreshes
      tokens += other.tokens
      checks += other.checks
      ends += other.ends
    }
  }
}

/// Some sessions that are played side by side, step by step, each against whichever instance comes next.
///
/// The instances have one time of day, so the pauses of all are those of one of them, a different one in each step: as many pauses
/// as a session that is played alone has.
private struct RefreshBatch {
  private let trio: ServiceTrio
  private var lanes: [RefreshLane]

  init(_ trio: ServiceTrio, seed: UInt64, count: Int) {
    self.trio = trio
    lanes = (0..<count).map { RefreshLane(trio, seed: seed &+ UInt64($0)) }
  }

  func play() async throws -> (tally: InstancePropertyTests.Tally, violations: [String]) {
    var lanes = try await Self.each(lanes) { try await $0.signIn() }
    for step in 0..<32 {
      lanes = try await Self.each(lanes) { try await $0.step() }
      let chosen = lanes[step % lanes.count]
      let pause = chosen.world.now - chosen.start(trio.clock)
      trio.clock.advance(by: .microseconds(pause))
      for index in lanes.indices { lanes[index].world.now = lanes[index].start(trio.clock) }
    }
    // A minute later each app that must be able to go on does.
    trio.clock.advance(by: .seconds(60))
    lanes = try await Self.each(lanes) { try await $0.wakeUp() }
    var tally = InstancePropertyTests.Tally()
    tally.interleavings = lanes.count
    for lane in lanes { tally.add(lane.tally) }
    return (tally, lanes.compactMap { lane in lane.world.violation.map { "lane of seed \(lane.seed): \($0)" } })
  }

  private static func each(
    _ lanes: [RefreshLane], _ body: @escaping @Sendable (inout RefreshLane) async throws -> Void
  ) async throws -> [RefreshLane] {
    try await withThrowingTaskGroup(of: (Int, RefreshLane).self) { tasks in
      for (index, lane) in lanes.enumerated() {
        tasks.addTask {
          var lane = lane
          try await body(&lane)
          return (index, lane)
        }
      }
      var changed = lanes
      for try await (index, lane) in tasks { changed[index] = lane }
      return changed
    }
  }
}

/// One session: what its clients do, and the tokens by their generations.
private struct RefreshLane: Sendable {
  let seed: UInt64
  var world: RefreshWorld
  var tally = InstancePropertyTests.Tally()
  private let trio: ServiceTrio
  private var random: SeededRandom
  private var tokens: [Int: String] = [:]
  /// An access token that was handed out, and until when it holds.
  private var access: (token: String, until: Int64)?
  private var session = ""

  init(_ trio: ServiceTrio, seed: UInt64) {
    self.trio = trio
    self.seed = seed
    random = SeededRandom(seed)
    world = RefreshWorld(hasThief: random.below(2) == 0)
    world.now = start(trio.clock)
  }

  /// The time as the world counts it.
  func start(_ clock: VirtualClock) -> Int64 {
    let (seconds, attoseconds) = clock.wall.components
    return seconds * RefreshWorld.second + attoseconds / 1_000_000_000_000
  }

  private var user: String { "u\(seed % 500)" }
  private mutating func copy() -> BrokerFixture { trio.copies[random.below(trio.copies.count)] }

  mutating func signIn() async throws {
    guard let given = try await copy().signIn(user).tokens else { throw TestFailure("nobody was signed in") }
    tokens[0] = given.refreshToken
    session = given.sessionID
    keep(given)
  }

  mutating func step() async throws {
    guard !world.isOver, world.violation == nil else { return }
    switch world.next(&random) {
    case .show(let generation, let attempt, let actor):
      let answer = try await show(generation, attempt)
      world.accept(answer, to: generation, by: actor)
    case .revoke: try await revoke()
    case .rotateKeys:
      // Whoever serves the key set reads it, and makes the next key when that is due.
      let response = try await copy().get("/.well-known/jwks.json")
      guard response.status == 200 else { throw TestFailure("no key set: \(response.status)") }
    case .pause: try await check()
    }
    if world.isOver { tally.ends += 1 }
  }

  mutating func wakeUp() async throws {
    guard world.mustLive, world.violation == nil else { return }
    let generation = world.wakeUp()
    guard case .token = try await show(generation, 0) else { return world.fail("the honest app cannot go on") }
    try await check()
  }

  /// Shows a token to one of the instances.
  private mutating func show(_ generation: Int, _ attempt: UInt64) async throws -> RefreshWorld.Answer {
    guard let token = tokens[generation] else { throw TestFailure("a token that nobody was given") }
    tally.refreshes += 1
    let given: SessionTokens
    do throws(RPCError) {
      given = try await copy().refresh(token, attempt: attempt == 0 ? "" : "attempt number \(attempt)")
    } catch {
      switch error.reason ?? "" {
      case "REFRESH_RACED": return .raced
      case "REFRESH_REUSED": return .ended(.refreshReused)
      case "SESSION_REVOKED": return .ended(.revoked)
      case "SESSION_EXPIRED": return .ended(.expired)
      case "INVALID_REFRESH_TOKEN": return .unknown
      default: throw error
      }
    }
    tally.tokens += 1
    guard let parts = given.refreshToken.refreshTokenParts else { throw TestFailure("no refresh token") }
    let known = tokens[parts.generation]
    if let known, known != given.refreshToken { throw TestFailure("one generation has two tokens") }
    tokens[parts.generation] = given.refreshToken
    keep(given)
    return .token(generation: parts.generation, isRepeated: known != nil)
  }

  private mutating func keep(_ given: SessionTokens) {
    // Sometimes the one from before is kept, so that keys that sign no more are asked for, too.
    guard access == nil || random.below(2) == 0 else { return }
    access = (given.accessToken, world.now + 300 * RefreshWorld.second)
  }

  /// As long as the session lives each instance takes its access tokens, whichever key signed them.
  private mutating func check() async throws {
    guard let access, world.now < access.until, !world.isOver, random.below(4) == 0 else { return }
    tally.checks += 1
    let copy = copy()
    let result = await ending { () async throws(RPCError) in
      try await copy.auth.getProfile(options: copy.from("192.0.2.1", access.token))
    }
    if result != "OK" { world.fail("an access token of a living session is refused: \(result)") }
  }

  /// From another device of the same person.
  private mutating func revoke() async throws {
    let copy = copy()
    guard let other = try await copy.signIn(user, device: "another").tokens else { throw TestFailure("nobody was signed in") }
    _ = try await copy.auth.revokeSession(.init(sessionID: session), options: copy.from("192.0.2.1", other.accessToken))
    access = nil
  }
}
