import AuthAPI
import AuthDomain
import DemoService
import EventLoop
import JOSE
import MessagesCore
import OnboardingAPI
import ParleyAPI
import RPC
import RPCClient
import ServiceKit
import TestAPI
import TestParley
import TestSupport
import Testing
import WellKnown

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
      try await Self.withOnboarding(parley) { instance, _ in
        let onboarding = try await Self.judge(OnboardingAPI.OnboardingService.services, instance, on: loop)
        #expect(onboarding[.session, default: 0] >= 8 && onboarding[.subscribed, default: 0] >= 7)
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

  /// The onboarding service without providers: what is asked of it here needs none.
  private static func withOnboarding(
    _ parley: TestParley, _ body: @escaping @Sendable (ServiceInstance, ClientChannel) async throws -> Void
  ) async throws {
    let folder = try ScratchFolder()
    try await parley.with(
      OnboardingAPI.OnboardingService.self, settings: ["BLOBS_DIRECTORY": folder.path + "/blobs"], body)
    withExtendedLifetime(folder) {}
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
    var submission = ""
    var upload = ""

    func named(_ place: MethodWalk.Place) -> Named? { byMessage(place.name) ?? byField(place.field) }

    private func byMessage(_ name: String) -> Named? {
      switch name {
      case "GetNoteRequest.note_id": .own(note)
      case "ListNotesRequest.page_token": .page(note)
      case "ListSessionsRequest.page_token": .page(sessions)
      case "ListActivityRequest.page_token": .page(activity)
      case "ReauthenticateRequest.id_token": .nothing("somebody else's is IDENTITY_MISMATCH: see StepUpTests")
      case "RecordingHead.upload_id": .nothing("what the caller calls an upload of their own")
      case "OnboardingState.user_name", "OnboardingState.user_path", "OnboardingState.user_timezone",
        "OnboardingState.brother_name":
        .nothing("what the caller says of themselves")
      case "ResponsesEntry.key": .nothing("a step")
      case "CorrectIdentityRequest.name": .nothing("a field of the catalogue")
      case "ClaimAnonymousProgressRequest.progress_key": .nothing("a secret: what is kept under it is whoever's has it")
      case "CompleteRequest.voip_token", "CompleteRequest.push_token": .nothing("where the caller's own device can be rung")
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
      case "submission_id": .own(submission)
      case "upload_id": .own(upload)
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
      try await Self.foreignAnswers(parley, ana, ben)
    }
  }

  /// The same of what people have answered.
  private static func foreignAnswers(_ parley: TestParley, _ ana: Ana, _ ben: TestUser) async throws {
    parley.subscribe(ana.phone)
    parley.subscribe(ben)
    try await withOnboarding(parley) { _, channel in
      var ana = ana
      let onboarding = ParleyAPI.OnboardingService.Client(channel)
      let state = OnboardingState(responses: ["3": .init(type: "text", value: .init(kind: .stringValue("Ana")))])
      let options = CallOptions(metadata: ana.phone.options.metadata, deadline: .after(.seconds(55)))
      ana.submission = try await onboarding.complete(.init(state: state), options: options).jobID
      ana.upload = "the-upload-of-ana"
      let recording = Array("RIFF....WAVEfmt ".utf8)
      _ = try? await onboarding.uploadRecording(options: options) { requests in
        try await requests.write(
          .init(
            head: .init(
              uploadID: ana.upload, contentType: "audio/wav", sha256: .init(SHA256.digest(recording)), size: 1_000),
            data: .init(recording)))
      }
      #expect(await walk(OnboardingAPI.OnboardingService.services, channel, ana, ben) >= 5)
      await control(OnboardingAPI.OnboardingService.services, channel, ana)
      #expect(try await onboarding.getProgress(options: options).state?.responses.count == 1)
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
      try await Self.withOnboarding(parley) { instance, _ in
        let onboarding = try await Self.strangers(OnboardingAPI.OnboardingService.services, parley, instance, ana)
        #expect(onboarding >= 7)
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
