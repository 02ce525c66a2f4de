import AuthDomain
import TestRandom

/// One session's clients: an honest app of three processes that share one token store, over a network that loses, delays and repeats;
/// and perhaps a thief who copies what the store holds.
///
/// It says what is shown to the service next, is told the answer, and knows what must never happen:
/// - without a thief or a sign-out the honest app never loses its session,
/// - once one of the two has refreshed with a token that the other one never had, the other one never refreshes again.
///
/// A token is named by its generation: a session never has two of the same. A plain value without arrays that grow, because a million of
/// these are played in a debug build.
struct RefreshWorld {
  /// What the service is to do.
  enum Move {
    /// Show a token. The attempt 0 is none.
    case show(generation: Int, attempt: UInt64, by: Actor)
    /// End the session, because the person says so.
    case revoke
    /// Look at the signing keys, and make the next one if that is due.
    case rotateKeys
    /// Nobody refreshes; access tokens may be shown.
    case pause
  }

  enum Actor: Equatable {
    case honest(worker: Int)
    case thief
  }

  /// What the service answered.
  enum Answer: Equatable {
    case token(generation: Int, isRepeated: Bool)
    case raced
    case ended(SessionEnd)
    case unknown
  }

  /// A process of the honest app and its one request.
  struct Worker {
    var generation = -1
    var attempt: UInt64 = 0
    var sentAt: Int64 = 0
    /// What is on its way back: a generation, or -1 for nothing, or -2 for an answer without a token.
    var answer = -1
    var isAbandoned = false

    var isIdle: Bool { generation < 0 }
  }

  static let rules = RefreshRules(raceWindow: .seconds(10))
  static let second: Int64 = 1_000_000
  /// When the app gives a request up, and the service with it: half of the race window (see ``RefreshRules/raceWindow``).
  static let patience = 5 * second
  private static let pauses: [Int64] = [
    0, 1000, second, 4 * second, 5 * second, 9_999_000, 10 * second, 11 * second, 300 * second,
  ]

  let hasThief: Bool
  var now: Int64 = 1_800_000_000 * second
  private(set) var isOver = false
  private(set) var violation: String?
  private var workers = (Worker(), Worker(), Worker())
  private var stored = 0
  private var storedAt: Int64 = 0
  private var attempts: UInt64 = 0
  /// One bit for each generation that the party was given.
  private var honestHas: UInt64 = 1
  private var thiefHas: UInt64 = 0
  private var knownAttempt: UInt64 = 0
  private var honestIsLeftBehind = false
  private var thiefIsLeftBehind = false
  private var isRevoked = false

  init(hasThief: Bool) { self.hasThief = hasThief }

  // MARK: What happens next

  mutating func next(_ random: inout SeededRandom) -> Move {
    let dice = random.below(32)
    switch dice {
    case 0..<6: now += Self.pauses[random.below(Self.pauses.count)]
    case 6..<26:
      let index = random.below(3)
      var worker = self[index]
      let move = act(&worker, index, &random)
      self[index] = worker
      return move
    case 26..<31 where hasThief: return steal(&random)
    case 31 where random.below(16) == 0:
      isRevoked = true
      return .revoke
    case 31: return .rotateKeys
    default: break
    }
    return .pause
  }

  private mutating func act(_ worker: inout Worker, _ index: Int, _ random: inout SeededRandom) -> Move {
    if worker.isIdle {
      // What was got just now is not exchanged at once.
      guard now - storedAt >= Self.patience else { return .pause }
      attempts += 1
      worker = Worker(generation: stored, attempt: random.below(4) == 0 ? 0 : attempts, sentAt: now)
    }
    let isInTime = now - worker.sentAt < Self.patience
    switch random.below(8) {
    case 0..<4 where isInTime:
      // The request arrives, perhaps once more.
      return .show(generation: worker.generation, attempt: worker.attempt, by: .honest(worker: index))
    case 4..<6 where isInTime && worker.answer != -1 && !worker.isAbandoned:
      if worker.answer >= 0 { store(worker.answer) }
      worker = Worker()
    case 6: worker.isAbandoned = true  // the process is killed; its request may still arrive
    default: if !isInTime { giveUp(&worker, &random) }
    }
    return .pause
  }

  /// The answer did not come in time: the same request once more, or the attempt is forgotten.
  private mutating func giveUp(_ worker: inout Worker, _ random: inout SeededRandom) {
    if !worker.isAbandoned, worker.generation == stored, random.below(4) != 0 {
      worker.sentAt = now
      worker.answer = -1
    } else {
      worker = Worker()
    }
  }

  private mutating func store(_ generation: Int) {
    stored = generation
    storedAt = now
  }

  private mutating func steal(_ random: inout SeededRandom) -> Move {
    if thiefHas == 0 || random.below(12) == 0 {
      thiefHas |= 1 << UInt64(stored)
      thiefIsLeftBehind = false
      knownAttempt = self[random.below(3)].attempt
      return .pause
    }
    // Mostly the newest, sometimes any.
    var left = thiefHas
    // Without its oldest, if there are others.
    if random.below(2) == 0, left & (left - 1) != 0 { left &= left - 1 }
    let generation = random.below(4) == 0 ? left.trailingZeroBitCount : 63 - left.leadingZeroBitCount
    attempts += 1
    let attempt = [0, attempts, attempts, knownAttempt][random.below(4)]
    return .show(generation: generation, attempt: attempt, by: .thief)
  }

  // MARK: What was answered

  mutating func accept(_ answer: Answer, to generation: Int, by actor: Actor) {
    let isThief = actor == .thief
    switch answer {
    case .unknown: fail("a token of this session is not known")
    case .raced: if case .honest(let index) = actor { self[index].answer = -2 }
    case .ended(let cause):
      isOver = true
      if isRevoked { return cause == .revoked ? () : fail("signed out, yet ended as \(cause)") }
      if thiefHas == 0 { fail("the honest app lost its session as \(cause)") }
      if cause != .refreshReused { fail("reuse ended as \(cause)") }
    case .token(let given, let isRepeated):
      if isRevoked { fail("a session that was ended goes on") }
      if isThief ? thiefIsLeftBehind : honestIsLeftBehind { fail("both live: generation \(generation) of \(actor)") }
      let bit: UInt64 = 1 << UInt64(generation)
      let otherHas = isThief ? honestHas & bit != 0 : thiefHas & bit != 0
      if !isRepeated, !otherHas { if isThief { honestIsLeftBehind = true } else { thiefIsLeftBehind = true } }
      switch actor {
      case .thief: thiefHas |= 1 << UInt64(given)
      case .honest(let index):
        self[index].answer = given
        // It may still arrive.
        honestHas |= 1 << UInt64(given)
      }
      // The masks have no more bits.
      if given >= 62 { isOver = true }
    }
  }

  /// Whether the app must be able to go on: nobody ended the session, nobody copied from it.
  var mustLive: Bool { !isOver && !isRevoked && thiefHas == 0 }

  /// The app wakes up a minute later and refreshes: what it shows.
  mutating func wakeUp() -> Int {
    now += 60 * Self.second
    workers = (Worker(), Worker(), Worker())
    return stored
  }

  mutating func fail(_ text: String) { if violation == nil { violation = text } }

  private subscript(index: Int) -> Worker {
    get { index == 0 ? workers.0 : index == 1 ? workers.1 : workers.2 }
    set { if index == 0 { workers.0 = newValue } else if index == 1 { workers.1 = newValue } else { workers.2 = newValue } }
  }
}
