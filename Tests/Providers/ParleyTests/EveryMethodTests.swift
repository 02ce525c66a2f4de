import AuthAPI
import AuthDomain
import DemoService
import EventLoop
import ParleyAPI
import RPC
import RPCClient
import ServiceKit
import TestAPI
import TestParley
import TestSupport
import Testing

/// Every RPC of every service, found by its descriptor: a new one is judged without a word here.
@Suite("Every method of every service", .serialized)
struct EveryMethodTests {
  /// How a method answers an empty request that carries nothing but these fields.
  private static func answer(
    _ method: MethodInfo, _ address: SocketAddress, on loop: EventLoop, _ fields: [(String, String)] = []
  ) async throws -> Int? {
    try await loop.perform {
      let peer = try await HTTP2Peer.open(to: address, on: loop)
      defer { peer.close() }
      peer.send(
        .headers(
          1, HTTP2Peer.httpHeaders("POST", method.path, [("te", "trailers"), ("content-type", "application/grpc")] + fields)))
      peer.sendBody(1, HTTP2Peer.message([]))
      return try await peer.response(1).status.map { Int($0) }
    }
  }

  private static func judge(
    _ services: [ServiceDescriptor], _ instance: ServiceInstance, on loop: EventLoop
  ) async throws -> [MethodAccess: Int] {
    let address = try #require(instance.addresses.grpc)
    var judged: [MethodAccess: Int] = [:]
    for method in services.flatMap(\.methods) {
      judged[method.access, default: 0] += 1
      guard method.access != .public else { continue }
      let wrong = [[], [("authorization", "Bearer x.y.z")], [("authorization", "Basic YTpi")]] as [[(String, String)]]
      for fields in wrong {
        let status = try await Self.answer(method, address, on: loop, fields)
        #expect(
          status == StatusCode.unauthenticated.rawValue, "\(method.path) (\(method.access.name)) with \(fields)")
      }
    }
    return judged
  }

  @Test("B-48: every method that is not public refuses whoever does not bring the credential that its access asks for")
  func withoutCredential() async throws {
    try await TestParley.with { parley in
      let loop = parley.loops.loops[0]
      let auth = try await Self.judge(AuthAPI.AuthService.services, parley.auth, on: loop)
      #expect(auth[.googleIDToken, default: 0] >= 2)
      try await parley.with(Notebook.self) { instance, _ in
        let notebook = try await Self.judge(Notebook.services, instance, on: loop)
        #expect(notebook[.session, default: 0] >= 5)
      }
      try await parley.with(DemoService.self) { instance, _ in
        let demo = try await Self.judge(DemoService.services, instance, on: loop)
        #expect(demo[.session] == 1)
      }
    }
  }

  @Test("Every service that is declared is served: none of its methods is unknown")
  func served() async throws {
    try await TestParley.with { parley in
      let address = try #require(parley.auth.addresses.grpc)
      for method in AuthAPI.AuthService.services.flatMap(\.methods) {
        let status = try await Self.answer(method, address, on: parley.loops.loops[0])
        #expect(status != nil && status != StatusCode.unimplemented.rawValue, "\(method.path)")
      }
    }
  }

  // MARK: Somebody else's

  /// What a field of a request names.
  private enum Named {
    /// Something of Ana's: nobody else gets at it.
    case own(String)
    /// A place in Ana's pages: whoever goes on from it sees their own.
    case page(String)
    /// Nothing of anybody's, because of this.
    case nothing(String)
  }

  /// Ana, her things and what they are called. A field is looked for by its message and name, then by its name alone.
  private struct Ana: Sendable {
    let phone: TestUser
    let tablet: TestUser
    var note = ""
    var work = ""
    var sessions = ""
    var activity = ""

    func named(_ place: MethodWalk.Place) -> Named? { byMessage(place.name) ?? byField(place.field) }

    private func byMessage(_ name: String) -> Named? {
      switch name {
      case "GetNoteRequest.note_id": .own(note)
      case "ListNotesRequest.page_token": .page(note)
      case "ListSessionsRequest.page_token": .page(sessions)
      case "ListActivityRequest.page_token": .page(activity)
      case "ReauthenticateRequest.id_token": .nothing("somebody else's is IDENTITY_MISMATCH: see StepUpTests")
      case "Profile.name": .nothing("what the person wants to be called")
      case "Profile.email": .nothing("it is told, and cannot be set")
      case "LinkCustomerRequest.original_app_user_id": .nothing("RevenueCat has to confirm it: see the tests of B-55")
      default: nil
      }
    }

    private func byField(_ name: String) -> Named? {
      switch name {
      case "work_id": .own(work)
      case "user_id": .own(phone.userID.description)
      case "session_id", "session_ids": .own(tablet.sessionID.description)
      case "idempotency_key": .nothing("it is looked for among the caller's own")
      default: nil
      }
    }

    /// What no answer to anybody else may hold.
    var secrets: [String] {
      [phone.userID.description, phone.sessionID.description, tablet.sessionID.description, note, work].filter { !$0.isEmpty }
    }
  }

  /// Calls all methods of people as Ben with everything that is Ana's.
  ///
  /// - Returns: How many fields were tried.
  private static func walk(
    _ services: [ServiceDescriptor], _ channel: ClientChannel, _ ana: Ana, _ ben: TestUser
  ) async -> Int {
    var count = 0
    for method in services.flatMap(\.methods) where method.access == .session || method.access == .subscribed {
      for place in MethodWalk.places(of: method) {
        count += 1
        switch ana.named(place) {
        case .own(let text):
          let ending = await MethodWalk.call(method, place.request(text), channel, ben.options.metadata)
          #expect(
            ending.code == .notFound || ending.code == .permissionDenied,
            "\(method.path) as Ben with Ana's \(place.name): \(ending)")
        case .page(let text):
          let ending = await MethodWalk.call(method, place.request(text), channel, ben.options.metadata)
          #expect(ending.code == .ok || ending.code == .invalidArgument, "\(method.path), \(place.name): \(ending)")
          for secret in ana.secrets { #expect(!ending.tells(secret), "\(method.path) tells Ben of Ana's \(secret)") }
        case .nothing: break
        case nil:
          Issue.record("\(method.path) has a request with \(place.name), which looks like an identifier: say here what it names")
        }
      }
    }
    return count
  }

  /// Calls them as Ana with the same: what was refused to Ben is there.
  private static func control(_ services: [ServiceDescriptor], _ channel: ClientChannel, _ ana: Ana) async {
    for method in services.flatMap(\.methods) where method.access == .session || method.access == .subscribed {
      for place in MethodWalk.places(of: method) {
        guard case .own(let text) = ana.named(place) else { continue }
        let ending = await MethodWalk.call(method, place.request(text), channel, ana.phone.options.metadata)
        #expect(
          ending.code != .notFound && ending.code != .permissionDenied && ending.code != .unauthenticated,
          "\(method.path) as Ana with her own \(place.name): \(ending)")
      }
    }
  }

  @Test(
    "B-48: no method serves Ben what is Ana's, whatever of hers his requests name; a field that may name something is in the table"
  )
  func foreign() async throws {
    try await TestParley.with { parley in
      let (phone, tablet, ben) = (
        try await parley.signIn("ana"), try await parley.signIn("ana"), try await parley.signIn("ben")
      )
      let client = ParleyAPI.AuthService.Client(parley.channel)
      var ana = Ana(phone: phone, tablet: tablet)
      ana.sessions = try await client.listSessions(.init(pageSize: 1), options: phone.options).nextPageToken
      ana.activity = try await client.listActivity(.init(pageSize: 1), options: phone.options).nextPageToken
      let export = StartExportRequest(idempotencyKey: "the-export-of-ana")
      ana.work = try await AccountService.Client(parley.channel).startExport(export, options: phone.options).work?.id ?? ""
      #expect(!ana.work.isEmpty)
      #expect(!ana.sessions.isEmpty && !ana.activity.isEmpty && phone.userID == tablet.userID && phone.userID != ben.userID)
      #expect(await Self.walk(AuthAPI.AuthService.services, parley.channel, ana, ben) >= 4)
      // All of it is as it was.
      let sessions = try await client.listSessions(options: phone.options).sessions
      #expect(Set(sessions.map(\.id)) == [phone.sessionID.description, tablet.sessionID.description])
      #expect(try await client.getProfile(options: tablet.options).profile?.name == "ana")
      await Self.control(AuthAPI.AuthService.services, parley.channel, ana)
      #expect(try await client.listSessions(options: phone.options).sessions.map(\.id) == [phone.sessionID.description])
      try await Self.foreignNotes(parley, ana, ben)
    }
  }

  /// The same in a service that leaves it to its options.
  private static func foreignNotes(_ parley: TestParley, _ ana: Ana, _ ben: TestUser) async throws {
    try await parley.with(Notebook.self) { _, channel in
      var ana = ana
      let notes = NotebookService.Client(channel)
      let written = try await notes.createNote(
        .init(idempotencyKey: "1", text: "Ana's own"), options: ana.phone.options)
      ana.note = written.note?.id ?? ""
      #expect(await Self.walk(Notebook.services, channel, ana, ben) >= 5)
      await Self.control(Notebook.services, channel, ana)
      #expect(try await notes.listNotes(options: ana.phone.options).notes == [written.note])
    }
  }

  @Test("B-48: methods of operators and of other services are refused to people, and to services with another certificate")
  func notForPeople() async throws {
    try await TestParley.with { parley in
      let ana = try await parley.signIn("ana")
      let auth = try await Self.strangers(AuthAPI.AuthService.services, parley, parley.auth, ana)
      #expect(auth >= 5)
      try await parley.with(Notebook.self) { instance, _ in
        let notebook = try await Self.strangers(Notebook.services, parley, instance, ana)
        #expect(notebook == 2)
      }
    }
  }

  private static func strangers(
    _ services: [ServiceDescriptor], _ parley: TestParley, _ instance: ServiceInstance, _ ana: TestUser
  ) async throws -> Int {
    let methods = services.flatMap(\.methods).filter { $0.access == .admin || $0.access == .service }
    try await parley.withSecureChannel(to: instance, showing: .none) { channel in
      for method in methods {
        let ending = await MethodWalk.call(method, [], channel, ana.options.metadata)
        #expect(ending.code == .unauthenticated, "\(method.path) with a session and no certificate: \(ending)")
      }
    }
    try await parley.withSecureChannel(to: instance, showing: .stranger) { channel in
      for method in methods {
        let ending = await MethodWalk.call(method, [], channel, ana.options.metadata)
        #expect(ending.code == .permissionDenied, "\(method.path) with a stranger's certificate: \(ending)")
      }
    }
    try await parley.withSecureChannel(to: instance, showing: .service) { channel in
      for method in methods where method.access == .admin {
        let ending = await MethodWalk.call(method, [], channel)
        #expect(ending.code == .permissionDenied, "\(method.path) with a service's certificate: \(ending)")
      }
    }
    return methods.count
  }
}
