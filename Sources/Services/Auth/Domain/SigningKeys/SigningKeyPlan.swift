public import Values

/// How long signing keys live.
public struct SigningKeyPolicy: Sendable, Hashable {
  /// How long a key signs before the next one takes over.
  public var period: Duration
  /// How long before its first use a key is published: every verifier has fetched it by then.
  public var publishedAhead: Duration
  /// The longest life of a token that is signed.
  public var tokenLifetime: Duration
  /// The most leeway that a verifier grants.
  public var leeway: Duration
  /// How long verifiers may keep the key set without asking again (`max-age`).
  public var keySetLifetime: Duration

  /// A policy.
  public init(
    period: Duration = .seconds(30 * 86_400), publishedAhead: Duration = .seconds(3600), tokenLifetime: Duration = .seconds(300),
    leeway: Duration = .seconds(300), keySetLifetime: Duration = .seconds(300)
  ) {
    self.period = period
    self.publishedAhead = publishedAhead
    self.tokenLifetime = tokenLifetime
    self.leeway = leeway
    self.keySetLifetime = keySetLifetime
  }

  /// How long the public half is served once another key signs: until the last token is worthless to every verifier.
  public var servedAfterUse: Duration { tokenLifetime + leeway + keySetLifetime }
}

/// A key's place in the row of keys: what is decided by time alone.
public struct SigningKeyTimes: Sendable, Hashable {
  /// Counts the keys, from 1. Of several instances that make the same one, one wins.
  public let generation: Int
  /// When it was made and, from then on, published.
  public let createdAt: Instant
  /// From when on it signs.
  public let activatesAt: Instant

  /// A key's place.
  public init(generation: Int, createdAt: Instant, activatesAt: Instant) {
    self.generation = generation
    self.createdAt = createdAt
    self.activatesAt = activatesAt
  }
}

/// What a key is for, at a time.
public enum SigningKeyState: Sendable, Hashable {
  /// Published, and not used yet.
  case next
  /// The one that signs.
  case active
  /// Published, so that what it signed can be checked.
  case retired
  /// Of no use to anybody: to be removed.
  case expired
}

/// What has to be done about the keys.
public enum SigningKeyAction: Sendable, Hashable {
  /// Make a key of that place.
  case create(SigningKeyTimes)
  /// Forget the keys of these generations.
  case remove([Int])
}

/// The rotation as a pure function of the keys there are and the time.
public struct SigningKeyPlan: Sendable {
  /// The rules.
  public let policy: SigningKeyPolicy

  /// A plan by these rules.
  public init(_ policy: SigningKeyPolicy) { self.policy = policy }

  /// What each of the keys, in the order of their generations, is for.
  ///
  /// There is an active key whenever there is one at all: a clock that was set back makes the oldest one sign.
  public func states(of keys: [SigningKeyTimes], at now: Instant) -> [SigningKeyState] {
    let active = keys.lastIndex { $0.activatesAt <= now } ?? 0
    return keys.indices.map { index in
      if index > active { return .next }
      if index == active { return .active }
      return now < keys[index + 1].activatesAt.advanced(by: policy.servedAfterUse) ? .retired : .expired
    }
  }

  /// What is due; nothing of it is urgent but the first key.
  public func actions(for keys: [SigningKeyTimes], at now: Instant) -> [SigningKeyAction] {
    guard let newest = keys.last else { return [.create(.init(generation: 1, createdAt: now, activatesAt: now))] }
    var actions: [SigningKeyAction] = []
    let ends = newest.activatesAt.advanced(by: policy.period)
    if ends.advanced(by: .zero - policy.publishedAhead) <= now {
      let activates = max(ends, now.advanced(by: policy.publishedAhead))
      actions.append(.create(.init(generation: newest.generation + 1, createdAt: now, activatesAt: activates)))
    }
    let expired = zip(keys, states(of: keys, at: now)).filter { $0.1 == .expired }.map(\.0.generation)
    if !expired.isEmpty { actions.append(.remove(expired)) }
    return actions
  }

  /// Whether keys that were read at `readAt` can still be signed with: a key that has begun to sign since then was published
  /// before that, so it was among them.
  public func maySign(withKeysReadAt readAt: Instant, at now: Instant) -> Bool {
    now < readAt.advanced(by: policy.publishedAhead)
  }
}
