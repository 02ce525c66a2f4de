import JOSE
import Synchronization

/// The access tokens that the sandbox has handed out: nothing else is one.
final class MintedTokens: Sendable {
  /// What a token stands for.
  struct Grant: Sendable {
    let account: CloudAccount
    let scopes: Set<String>
    /// In seconds since 1970.
    let end: Int64
  }

  static let cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"
  /// More than any test or demonstration asks for; beyond it the oldest are forgotten.
  private static let capacity = 100_000

  private struct State {
    var grants: [String: Grant] = [:]
    var order: [String] = []
  }

  private let state = Mutex(State())

  /// A new token.
  func mint(_ account: CloudAccount, scopes: some Sequence<String>, end: Int64) -> String {
    let token = "ya29.sandbox-" + Base64URL.encode(SecureRandom.bytes(24))
    let grant = Grant(account: account, scopes: Set(scopes), end: end)
    state.withLock { state in
      if state.order.count >= Self.capacity {
        for old in state.order.prefix(Self.capacity / 2) { state.grants[old] = nil }
        state.order.removeFirst(Self.capacity / 2)
      }
      state.grants[token] = grant
      state.order.append(token)
    }
    return token
  }

  /// What a token stands for, unless it has run out.
  func grant(_ token: String, at now: Int64) -> Grant? {
    state.withLock { $0.grants[token] }.flatMap { $0.end > now ? $0 : nil }
  }
}
