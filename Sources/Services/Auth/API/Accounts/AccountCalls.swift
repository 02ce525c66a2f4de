internal import AuthDomain
internal import EventLoop
internal import RPC
internal import ServiceKit

/// What all calls about accounts have in common: who asks, how it ended in log and metrics, and refusals as they are sent.
struct AccountCalls: Sendable {
  let journal: AccountJournal
  let proxies: TrustedProxies

  func answer<Value>(_ call: CallContext, _ body: (AccountClient) async throws -> Value) async throws -> Value {
    let client = AccountClient(call, proxies)
    let start = MonotonicInstant.now()
    do {
      let value = try await body(client)
      journal.done(call.method.name, client, since: start)
      return value
    } catch let refusal as AccountRefusal {
      journal.refused(refusal, call.method.name, client, since: start)
      throw refusal.rpcError
    }
  }
}
