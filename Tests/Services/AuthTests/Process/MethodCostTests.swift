import AuthAPI
import AuthDomain
import AuthStore
import MessagesCore
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSupport
import Testing
import WellKnown

@Suite("What each method of auth costs its database", .serialized)
struct MethodCostTests {
  private static let settings = [
    // What a loop remembers is known to all calls, and no limit is in the way of calls one after the other by a clock that stands.
    "PARLEY_AUTH_LOOPS": "1", "PARLEY_AUTH_SIGN_IN_BURST": "1000", "PARLEY_AUTH_REFRESH_IP_BURST": "1000",
    "PARLEY_AUTH_JOBS_POLL": "20ms", "PARLEY_AUTH_JOBS_LEASE": "600s", "PARLEY_AUTH_SESSION_SWEEP_INTERVAL": "1s",
  ]

  @Test("No call of any method costs more statements, round trips and syncing commits than the table says")
  func walk() async throws {
    let costs = CallCosts()
    try await PaidWorld.with(Self.settings, costs: costs) { world in
      var walk = try CallCostWalk(AuthAPI.AuthService.self, costs)
      await walk.countStandard(over: world.service.channel)
      try await signIn(world.service, &walk)
      try await sessions(world.service, &walk)
      try await account(world.service, &walk)
      try await billing(world, &walk)
      try await broker(world.service, &walk)
      try await administration(world, &walk)
      for problem in try walk.end() { Issue.record("\(problem)") }
    }
  }

  // MARK: People

  private func signIn(_ service: BrokerFixture, _ walk: inout CallCostWalk) async throws {
    await walk.count("AuthService/BeginSignIn") { _ in _ = try await service.nonce() }
    await walk.count("AuthService/SignInWithGoogle", "new account") { number in _ = try await service.signIn("new \(number)") }
    await walk.count("AuthService/SignInWithGoogle") { _ in _ = try await service.signIn("ana") }
    await walk.count("AuthService/SignInWithApple") { _ in _ = try await service.appleSignIn("ana") }
    await walk.count("AuthService/RefreshSession") { number in
      let tokens = try #require(try await service.signIn("refreshes").tokens)
      _ = try await service.refresh(tokens.refreshToken, attempt: "an-attempt-of-the-walk-\(number)")
    }
  }

  private func sessions(_ service: BrokerFixture, _ walk: inout CallCostWalk) async throws {
    let signedIn = try #require(try await service.signIn("bo").tokens)
    let (auth, options) = (service.auth, service.from("192.0.2.1", signedIn.accessToken))
    await walk.count("AuthService/GetProfile") { _ in _ = try await auth.getProfile(options: options) }
    await walk.count("AuthService/UpdateProfile") { number in
      _ = try await auth.updateProfile(
        .init(profile: .init(name: "Bo \(number)"), updateMask: .init(paths: ["name"])), options: options)
    }
    await walk.count("AuthService/ListSessions") { _ in _ = try await auth.listSessions(options: options) }
    await walk.count("AuthService/ListActivity") { _ in _ = try await auth.listActivity(options: options) }
    await walk.count("AuthService/RevokeSession") { _ in
      let other = try #require(try await service.signIn("bo", device: "tablet").tokens)
      _ = try await auth.revokeSession(.init(sessionID: other.sessionID), options: options)
    }
    await walk.count("AuthService/RevokeSessions") { _ in
      for device in ["tablet", "watch"] { _ = try await service.signIn("bo", device: device) }
      _ = try await auth.revokeSessions(options: options)
    }
    await walk.count("AuthService/SignOut") { _ in
      let access = try #require(try await service.signIn("leaves").tokens?.accessToken)
      _ = try await auth.signOut(options: service.from("192.0.2.1", access))
    }
    let directory = SessionDirectoryService.Client(service.services)
    await walk.count("SessionDirectoryService/CheckSessions") { _ in
      _ = try await directory.checkSessions(.init(sessionIDs: [signedIn.sessionID]), options: .timeout(.seconds(55)))
    }
    await walk.count("SessionDirectoryService/WatchRevocations") { _ in
      try await directory.watchRevocations(options: .timeout(.seconds(55))) { stream in
        var stream = stream
        _ = try await stream.next()
      }
    }
  }

  private func account(_ service: BrokerFixture, _ walk: inout CallCostWalk) async throws {
    let access = try #require(try await service.signIn("cy").tokens?.accessToken)
    await walk.count("AccountService/Reauthenticate") { number in
      // Another token than the last one: each is taken once.
      service.clock.advance(by: .seconds(1))
      _ = try await service.stepUp(access, as: "cy")
    }
    await walk.count("AccountService/StartExport") { number in
      let access = try #require(try await service.signIn("takes all \(number)").tokens?.accessToken)
      _ = try await service.startExport(access)
    }
    let export = try await service.export(access)
    guard export.state == .done else { throw TestFailure("an export that is done: \(export)") }
    await walk.count("AccountService/GetAccountWork") { _ in _ = try await service.work(export.id, access) }
    await walk.count("AccountService/DownloadExport") { _ in _ = try await service.download(export.id, access) }
    var receipt = ""
    await walk.count("AccountService/DeleteAccount") { number in
      let access = try #require(try await service.signIn("is forgotten \(number)").tokens?.accessToken)
      receipt = try await service.deleteAccount(access).receipt
    }
    _ = try await service.deleted(receipt)
    await walk.count("AccountService/GetDeletionReport") { _ in _ = try await service.report(receipt) }
  }

  // MARK: Payment and the broker

  private func billing(_ world: PaidWorld, _ walk: inout CallCostWalk) async throws {
    let service = world.service
    let entitlements = EntitlementService.Client(service.channel)
    func paying(_ name: String) async throws -> (user: String, options: CallOptions) {
      let (user, tokens) = try await world.signIn(name)
      world.purchase(as: [user])
      return (user, service.from("192.0.2.1", tokens.accessToken))
    }
    let pays = try await paying("pays")
    _ = try await entitlements.syncEntitlement(options: pays.options)
    await walk.count("EntitlementService/GetEntitlement") { _ in
      _ = try await entitlements.getEntitlement(options: pays.options)
    }
    await walk.count("EntitlementService/SyncEntitlement") { number in
      _ = try await entitlements.syncEntitlement(options: try await paying("asks \(number)").options)
    }
    await walk.count("EntitlementService/LinkCustomer") { number in
      let (user, tokens) = try await world.signIn("links \(number)")
      let customer = "$RCAnonymousID:of-the-walk-\(number)"
      world.purchase(as: [customer, user])
      let ending = await world.link(customer, tokens)
      guard ending == "OK" else { throw TestFailure("a customer who is linked: \(ending)") }
    }
    let directory = EntitlementDirectoryService.Client(service.services)
    await walk.count("EntitlementDirectoryService/CheckEntitlement") { _ in
      let found = try await directory.checkEntitlement(.init(userID: pays.user), options: .timeout(.seconds(55)))
      #expect(found.isEntitled)
    }
    await walk.count("EntitlementDirectoryService/CheckEntitlement", "not remembered") { number in
      let other = try await paying("is asked for \(number)")
      _ = try await entitlements.syncEntitlement(options: other.options)
      _ = try await directory.checkEntitlement(
        .init(userID: other.user, withProduct: true), options: .timeout(.seconds(55)))
    }
  }

  private func broker(_ service: BrokerFixture, _ walk: inout CallCostWalk) async throws {
    let token = service.idToken()
    await walk.count("TokenBrokerService/ExchangeToken", "known token") { _ in _ = try await service.exchange(token) }
    await walk.count("TokenBrokerService/ExchangeToken", "new token") { _ in
      service.clock.advance(by: .seconds(1))
      _ = try await service.exchange(service.idToken())
    }
    await walk.count("TokenBrokerService/WhoAmI") { _ in
      _ = try await service.grpc.whoAmI(options: service.options(token))
    }
    let options = CallOptions.timeout(.seconds(55))
    await walk.count("BrokerAdminService/GetLedger") { _ in
      _ = try await service.admin.getLedger(.init(subject: "ana"), options: options)
    }
    await walk.count("BrokerAdminService/SetKillSwitch") { number in
      _ = try await service.admin.setKillSwitch(
        .init(capability: "*", stopped: number % 2 == 0, reason: "the walk", subject: "nobody"), options: options)
    }
    await walk.count("BrokerAdminService/GetKillSwitches") { _ in _ = try await service.admin.getKillSwitches(options: options) }
  }

  // MARK: Operators

  private func administration(_ world: PaidWorld, _ walk: inout CallCostWalk) async throws {
    let service = world.service
    let (users, options) = (service.users, CallOptions.timeout(.seconds(55)))
    func user(_ name: String) async throws -> String { try #require(try await service.signIn(name).profile?.userID) }
    let ana = try await user("ana")
    await walk.count("UserAdminService/ListUsers") { _ in _ = try await users.listUsers(options: options) }
    await walk.count("UserAdminService/GetUser") { _ in _ = try await users.getUser(.init(userID: ana), options: options) }
    await walk.count("UserAdminService/ListUserSessions") { _ in
      _ = try await users.listUserSessions(.init(userID: ana), options: options)
    }
    await walk.count("UserAdminService/SuspendUser") { number in
      _ = try await users.suspendUser(
        .init(userID: try await user("is suspended \(number)"), reason: "the walk"), options: options)
    }
    await walk.count("UserAdminService/ReinstateUser") { number in
      let id = try await user("is back \(number)")
      _ = try await users.suspendUser(.init(userID: id, reason: "the walk"), options: options)
      _ = try await users.reinstateUser(.init(userID: id, reason: "the walk"), options: options)
    }
    await walk.count("UserAdminService/RevokeUserSessions") { number in
      _ = try await users.revokeUserSessions(
        .init(userID: try await user("is signed out \(number)"), reason: "the walk"), options: options)
    }
    await walk.count("UserAdminService/ListAudit") { _ in _ = try await users.listAudit(options: options) }
    await walk.countJobs(as: service.operators) {
      let id: String? = try await world.database.value(
        """
        insert into auth.dead_job (
          id, queue, kind, version, priority, payload, attempt, max_attempts, run_lease, enqueued_at, steps, progress_done,
          progress_total, progress_note, died_at, reason, last_error)
        values (gen_random_uuid(), 'default', 'walk.unknown', 1, 2, '', 1, 1, 0, now(), 0, 0, 0, '', now(), 'permanent', 'never')
        returning id::text
        """, as: String.self)
      return try #require(id)
    }
  }

  @Test(
    "A migration leaves the statements of the last release as they are: each can be prepared on the schema as it is now (PF-04)")
  func statements() async throws {
    let recorded = try RecordedStatements(of: "auth")
    try await TestDatabase.with { database in
      let url = try await database.prepare(AuthMigrations.schema, AuthMigrations.all)
      #expect(try await recorded.refused(at: url, on: database) == [])
      // One that did not leave them would be seen.
      try await database.script("alter table auth.session rename column last_used_at to used_at")
      #expect(try await !recorded.refused(at: url, on: database).isEmpty)
    }
  }
}
