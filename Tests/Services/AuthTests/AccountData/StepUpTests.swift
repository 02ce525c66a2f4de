import AuthDomain
import JSON
import ParleyAPI
import PostgreSQL
import RPC
import Testing
import Values
import WellKnown

@Suite("Account data: the step-up", .serialized)
struct StepUpTests {
  private static func needsStepUp(_ service: BrokerFixture, _ access: String) async throws -> [String] {
    let options = service.from("192.0.2.1", access)
    return [
      await ending { () async throws(RPCError) in try await service.startExport(access) },
      await ending { () async throws(RPCError) in try await service.deleteAccount(access) },
      await ending { () async throws(RPCError) in
        do {
          try await service.account.downloadExport(.init(workID: "any"), options: options) { stream in
            var stream = stream
            while try await stream.next() != nil {}
          }
        } catch let error as RPCError { throw error } catch { throw RPCError(.unknown, "\(error)") }
      },
    ]
  }

  @Test("AUTH-S6: export, download and deletion ask for a sign-in of the last five minutes, and a refresh is none")
  func fiveMinutes() async throws {
    try await AccountDataWorld.running([]) { service, _ in
      let tokens = try #require(try await service.signIn().tokens)
      service.clock.advance(by: .seconds(300))
      let export = try await service.export(tokens.accessToken)
      #expect(export.state == .done)
      service.clock.advance(by: .seconds(1))
      let refused = [String](repeating: "FAILED_PRECONDITION STEP_UP_REQUIRED", count: 3)
      #expect(try await Self.needsStepUp(service, tokens.accessToken) == refused)
      let refusal = await #expect(throws: RPCError.self) { try await service.startExport(tokens.accessToken) }
      #expect(
        refusal?.details.contains(
          .errorInfo(reason: "STEP_UP_REQUIRED", domain: "parley.auth.v1", metadata: ["max_age_seconds": "300"])) == true)
      let refreshed = try await service.refresh(tokens.refreshToken)
      #expect(try await Self.needsStepUp(service, refreshed.accessToken) == refused)
      // How far it has come is no secret that needs more than a session.
      #expect(try await service.work(export.id, refreshed.accessToken).state == .done)

      let stepUp = try await service.stepUp(refreshed.accessToken)
      #expect(stepUp.tokenType == "Bearer" && stepUp.expiresIn?.seconds == 300)
      #expect(stepUp.stepUpUntil?.seconds == service.now.seconds + 300)
      let parts = try await service.download(export.id, stepUp.accessToken)
      #expect(try !documents(parts).isEmpty)
      // The old token says what it said; the next one of the session knows of the step-up.
      #expect(try await Self.needsStepUp(service, refreshed.accessToken) == refused)
      let next = try await service.refresh(refreshed.refreshToken)
      #expect(try await service.startExport(next.accessToken, BrokerFixture.keys[1]).kind == .export)
      let deleted = try await service.deleteAccount(next.accessToken)
      #expect(deleted.work?.kind == .deletion)
    }
  }

  @Test("AUTH-S6: a step-up takes a fresh token of the account's own identity, once, and nothing else")
  func refusals() async throws {
    try await AccountDataWorld.running([]) { service, database in
      let ana = try #require(try await service.signIn().tokens)
      _ = try await service.signIn("bo")
      service.clock.advance(by: .seconds(200))
      func show(
        _ token: String, _ nonce: String, provider: ParleyAPI.IdentityProvider = .google
      ) async -> String {
        await ending { () async throws(RPCError) in
          try await service.account.reauthenticate(
            .init(provider: provider, idToken: token, nonce: nonce), options: service.from("192.0.2.1", ana.accessToken))
        }
      }
      let nonce = try await service.nonce()
      #expect(await show(service.googleToken("bo", nonce: nonce.nonce), nonce.nonce) == "PERMISSION_DENIED IDENTITY_MISMATCH")
      #expect(await show("", nonce.nonce) == "INVALID_ARGUMENT INVALID_ARGUMENT")
      #expect(await show("rubbish", nonce.nonce) == "UNAUTHENTICATED INVALID_ID_TOKEN")
      #expect(
        await show(service.googleToken(nonce: nonce.nonce), nonce.nonce, provider: .unspecified)
          == "INVALID_ARGUMENT INVALID_ARGUMENT")
      let other = try await service.nonce()
      #expect(await show(service.googleToken(nonce: other.nonce), nonce.nonce) == "UNAUTHENTICATED NONCE_MISMATCH")
      // A token from the time of the sign-in proves nothing about now.
      let stale = service.googleToken(
        nonce: nonce.nonce, [("iat", .number(JSONNumber(service.now.seconds - 301)))])
      #expect(await show(stale, nonce.nonce) == "UNAUTHENTICATED INVALID_ID_TOKEN")
      let fresh = service.googleToken(nonce: nonce.nonce, [("iat", .number(JSONNumber(service.now.seconds - 300)))])
      #expect(await show(fresh, nonce.nonce) == "OK")
      #expect(await show(fresh, nonce.nonce) == "UNAUTHENTICATED ID_TOKEN_REPLAYED")
      let seen =
        try await database.database.values(
          "select count(*)::int8 from auth.activity where action = 'reauthenticated' and outcome = 'done'") as [Int64]
      #expect(seen == [1])
    }
  }

  @Test("AUTH-S6: an Apple account steps up with Apple's token, in Apple's form of the nonce")
  func apple() async throws {
    try await AccountDataWorld.running([], BrokerFixture.appleAudience) { service, _ in
      let first = try await service.nonce(.apple)
      let tokens = try #require(
        try await service.auth.signInWithApple(
          .init(identityToken: try service.appleToken(nonce: first.providerNonce), nonce: first.nonce), options: service.from()
        ).tokens)
      service.clock.advance(by: .seconds(301))
      let second = try await service.nonce(.apple)
      let stepUp = try await service.account.reauthenticate(
        .init(provider: .apple, idToken: try service.appleToken(nonce: second.providerNonce), nonce: second.nonce),
        options: service.from("192.0.2.1", tokens.accessToken))
      #expect(try await service.startExport(stepUp.accessToken).state != .unspecified)
    }
  }
}
