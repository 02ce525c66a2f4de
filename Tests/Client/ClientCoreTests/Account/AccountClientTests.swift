import ParleyAPI
import RPC
import Synchronization
import Testing

@testable import ClientCore

@Suite("The account, from an app")
struct AccountClientTests {
  private func account(_ device: Phone) -> AccountClient {
    AccountClient(channel: SessionChannel(device.auth.channel, keeper: device.keeper), clock: device.clock)
  }

  private func show(_ device: Phone, _ token: String) async -> RPCError? {
    await refusal {
      let nonce = try await device.keeper.beginSignIn(with: .google).nonce
      try await device.keeper.stepUp(with: .google, idToken: token, nonce: nonce)
    }
  }

  @Test("AUTH-S6: a step-up takes the place of the access token, and the refresh token goes on serving")
  func stepUp() async throws {
    let device = Phone()
    let first = try await device.signIn()
    #expect(await show(device, "ana's") == nil)
    let second = try await device.keeper.accessToken()
    #expect(second != first && device.auth.refreshes.isEmpty)
    _ = try await account(device).startExport()
    #expect(device.auth.calls.last?.authorization == "Bearer \(second)")
    let third = try await device.keeper.accessToken(insteadOf: second)
    #expect(third != second && device.auth.refreshes.count == 1)
  }

  @Test("AUTH-S6: another person's token changes nothing, and the session goes on")
  func mismatch() async throws {
    let device = Phone()
    let token = try await device.signIn()
    #expect(await show(device, "bo's")?.reason == "IDENTITY_MISMATCH")
    #expect(try await device.keeper.accessToken() == token)
  }

  @Test("AUTH-S6: a step-up whose access token has run out is made with the next one")
  func expired() async throws {
    let device = Phone()
    let token = try await device.signIn()
    device.auth.change { $0.accessTokens[token]?.expiresAt = device.clock.now() }
    let nonce = try await device.keeper.beginSignIn(with: .google).nonce
    try await device.keeper.stepUp(with: .google, idToken: "ana's", nonce: nonce)
    #expect(device.auth.refreshes.count == 1)
  }

  @Test("A download goes on where it broke off, and no byte comes twice")
  func resumed() async throws {
    let device = Phone()
    _ = try await device.signIn()
    let bytes = (0..<20).map { UInt8($0) }
    device.auth.change { state in (state.export, state.breaks) = (bytes, [7, 0, 6]) }
    let received = Mutex<[UInt8]>([])
    let end = try await account(device).download("work-1") { part in received.withLock { $0 += Array(part.data) } }
    #expect(received.withLock { $0 } == bytes && end == 20)
    #expect(device.auth.state.withLock { $0.downloads } == [0, 7, 7, 13])
    let tail = try await account(device).download("work-1", from: 15) { _ in }
    #expect(tail == 20)
  }

  @Test("A download that gets no further is given up with the connection's error")
  func givenUp() async throws {
    let device = Phone()
    _ = try await device.signIn()
    device.auth.change { state in (state.export, state.breaks) = ([1, 2], [0, 0, 0, 0, 0]) }
    let error = await refusal { try await account(device).download("work-1") { _ in } }
    #expect(error?.code == .unavailable && device.auth.state.withLock { $0.downloads.count } == 3)
  }

  @Test("AUTH-M9: after a deletion the session has ended with its cause, and the receipt is told how far it has come")
  func deleted() async throws {
    let device = Phone()
    _ = try await device.signIn()
    let (receipt, work) = try await account(device).deleteAccount()
    #expect(work.state == .running)
    let gone = await refusal { _ = try await account(device).work("work-1") }
    #expect(gone?.reason == "ACCOUNT_DELETED")
    #expect(await refusal { _ = try await device.keeper.accessToken() }?.reason == "NOT_SIGNED_IN")
    #expect(try await account(device).report(receipt: receipt).state == .done)
    #expect(await refusal { _ = try await account(device).report(receipt: "prd1_y") }?.reason == "RECEIPT_UNKNOWN")
  }
}
