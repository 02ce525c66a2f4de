import AuthDomain
import Values

/// The signing keys of a service of three copies, by the pure plan: each copy signs and checks with the keys that it has read, reads
/// them anew as rarely as it may, and does then what is due.
///
/// What must never happen: that a copy refuses an access token that another one signed and that has not run out.
struct KeyRotationWorld {
  /// A copy's view of the keys.
  private struct Copy {
    var keys: [SigningKeyTimes] = []
    var readAt: Instant?
  }

  /// An access token: which key signed it, and until when any verifier takes it.
  private struct Access {
    let generation: Int
    let goodUntil: Instant
  }

  static let policy = SigningKeyPolicy(
    period: .seconds(500), publishedAhead: .seconds(250), tokenLifetime: .seconds(300), leeway: .seconds(60),
    keySetLifetime: .seconds(30))
  /// As `SigningKeyring.rereadInterval`.
  private static let rereadInterval = Duration.seconds(30)

  private let plan: SigningKeyPlan
  private var stored: [SigningKeyTimes] = []
  private var copies = [Copy](repeating: Copy(), count: 3)
  private var access: [Access] = []
  private(set) var violation: String?
  /// How many keys there were.
  private(set) var generations = 0

  init(_ policy: SigningKeyPolicy = Self.policy) { plan = SigningKeyPlan(policy) }

  /// A copy looks at the keys now, due or not.
  mutating func read(_ copy: Int, at now: Instant) {
    for action in plan.actions(for: stored, at: now) {
      switch action {
      case .create(let times): if stored.last.map({ $0.generation < times.generation }) ?? true { stored.append(times) }
      case .remove(let generations): stored.removeAll { generations.contains($0.generation) }
      }
    }
    generations = max(generations, stored.last?.generation ?? 0)
    copies[copy] = Copy(keys: stored, readAt: now)
  }

  /// A copy hands out an access token.
  mutating func sign(_ copy: Int, at now: Instant) {
    look(copy, at: now)
    guard let readAt = copies[copy].readAt, plan.maySign(withKeysReadAt: readAt, at: now),
      let key = zip(copies[copy].keys, plan.states(of: copies[copy].keys, at: now)).first(where: { $0.1 == .active })?.0
    else { return fail("copy \(copy) has no key to sign with") }
    if access.count == 3 { access.removeFirst() }
    access.append(
      Access(generation: key.generation, goodUntil: now.advanced(by: Self.policy.tokenLifetime + Self.policy.leeway)))
  }

  /// A copy is shown the access tokens of late.
  mutating func check(_ copy: Int, at now: Instant) {
    guard let last = access.last, now < last.goodUntil else { return }
    look(copy, at: now)
    for token in access where now < token.goodUntil {
      guard copies[copy].keys.contains(where: { $0.generation == token.generation }) else {
        return fail("copy \(copy) has not key \(token.generation) of a token that holds")
      }
    }
  }

  /// Reads what was not looked at of late.
  private mutating func look(_ copy: Int, at now: Instant) {
    if let readAt = copies[copy].readAt, now < readAt.advanced(by: Self.rereadInterval) { return }
    read(copy, at: now)
  }

  private mutating func fail(_ text: String) { if violation == nil { violation = text } }
}
