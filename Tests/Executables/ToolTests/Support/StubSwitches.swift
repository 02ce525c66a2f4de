import ParleyAPI
import RPC
import Synchronization

/// The broker's switches for operators, in this process.
final class StubSwitches: BrokerAdminService.Handlers {
  let asked = Mutex<[SetKillSwitchRequest]>([])

  func getLedger(_ request: GetLedgerRequest, _ call: CallContext) async throws -> GetLedgerResponse { .init() }

  func setKillSwitch(_ request: SetKillSwitchRequest, _ call: CallContext) async throws -> SetKillSwitchResponse {
    asked.withLock { $0.append(request) }
    return .init(killSwitch: Self.found(request, by: call.peerIdentity?.name ?? "nobody"))
  }

  func getKillSwitches(_ request: GetKillSwitchesRequest, _ call: CallContext) async throws -> GetKillSwitchesResponse {
    .init(killSwitches: asked.withLock { $0.map { Self.found($0, by: call.peerIdentity?.name ?? "nobody") } })
  }

  private static func found(_ request: SetKillSwitchRequest, by name: String) -> KillSwitch {
    KillSwitch(
      capability: request.capability, stopped: request.stopped, reason: request.reason, changedAt: StubUsers.time,
      changedBy: name,
      subjectHash: request.subject.isEmpty ? request.subjectHash : String(repeating: "a", count: 32))
  }
}
