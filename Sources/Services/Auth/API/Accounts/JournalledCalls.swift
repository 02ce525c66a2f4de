internal import AuthDomain
internal import RPC
internal import ServiceKit
internal import Telemetry

/// Serves calls about accounts and tells metrics and the access log how each ended.
struct JournalledCalls: Sendable {
  let journal: AccountJournal
  let proxies: TrustedProxies

  /// Answers with what `body` makes; a refusal of it becomes the call's status.
  func answer<Value>(_ call: CallContext, _ body: (AccountClient) async throws -> Value) async throws -> Value {
    let client = AccountClient(call, proxies)
    // The line has the peer already, which is who asks where there are no proxies.
    if client.address != call.call.peer.address { note(CallNotes(), client, call) }
    do { return try await body(client) } catch let refusal as AccountRefusal {
      note(journal.refused(refusal), client, call)
      throw refusal.rpcError
    }
  }

  private func note(_ notes: CallNotes, _ client: AccountClient, _ call: CallContext) {
    var notes = notes
    if client.address != call.call.peer.address { notes.add("client", client.address) }
    call[CallNotes.Key.self] = notes
  }
}
