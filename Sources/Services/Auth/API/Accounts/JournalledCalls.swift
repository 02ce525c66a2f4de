internal import AuthDomain
internal import EventLoop
internal import RPC
internal import ServiceKit

/// Serves calls about accounts and tells log and metrics how each ended.
struct JournalledCalls: Sendable {
  let journal: AccountJournal
  let proxies: TrustedProxies

  /// Answers with what `body` makes; a refusal of it becomes the call's status.
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
