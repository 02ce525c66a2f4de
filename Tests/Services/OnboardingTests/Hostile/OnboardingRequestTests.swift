import AuthDomain
import EventLoop
import MessagesCore
import OnboardingAPI
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSupport
import Testing
import Values

@Suite("Texts with U+0000, and forged page tokens, in onboarding's requests", .serialized)
struct OnboardingRequestTests {
  private static let text = "0123456789abcdef\u{0}"

  /// A world whose limits nobody here meets.
  private static let settings = OnboardingWorld.operated.merging(["COMPLETE_WAIT": "0s"]) { $1 }

  private static func options(_ method: MethodInfo, _ ana: TestUser) -> CallOptions {
    switch method.access {
    case .admin, .service: OnboardingWorld.withoutSession()
    default: OnboardingWorld.options(ana)
    }
  }

  @Test(
    "No text of any request is INTERNAL for a U+0000 in it: what reaches a statement is INVALID_ARGUMENT with a reason (BB-03)")
  func walk() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await world.signIn("ana")
      let user = ana.userID.description
      let walk = RequestWalk(putting: Self.text) { method, field in
        switch (method.name, field) {
        case ("PurgeJobs", "ids"), (_, "page_token"): nil
        case ("PurgeJobs", "all_dead"), (_, "head.size"), (_, "step"): "1"
        case (_, "user_id"): user
        case (_, "id"), (_, "ids"), (_, "submission_id"), (_, "work_id"): UUID.v7().description
        case (_, "idempotency_key"), (_, "progress_key"), (_, "upload_id"), (_, "head.upload_id"): "0123456789abcdef0123"
        case (_, "queue"), (_, "kind"): "any"
        case (_, "state"), (_, "answer"), (_, "head"): ""
        case (_, "answer.type"), (_, "state.responses.value.type"): "text"
        case (_, "name"): "identity_name"
        default: nil
        }
      }
      try await world.parley.withSecureChannel(to: world.instance, showing: .service) { secure in
        var endings: [String: String] = [:]
        for method in OnboardingAPI.OnboardingService.services.flatMap(\.methods) {
          for step in walk.steps(of: method) {
            let isByCertificate = method.access == .admin || method.access == .service
            let error = try await step.send(over: isByCertificate ? secure : world.channel, Self.options(method, ana))
            endings["\(method.name) \(step.field)"] = error.map { "\($0.code.name) \($0.reason ?? "")" } ?? "OK"
            guard let error else { continue }
            let isJudged = ![.internal, .unknown, .unavailable, .dataLoss, .unimplemented].contains(error.code)
            #expect(isJudged && error.reason != nil, "\(step): \(error)")
          }
        }
        for reached in ["GetUpload upload_id", "ListJobs queue", "ListJobs kind", "PurgeJobs queue", "PurgeJobs kind"] {
          #expect(endings[reached] == "INVALID_ARGUMENT UNSTORABLE_TEXT", "\(reached): \(endings[reached] ?? "not tried")")
        }
        #expect(endings.count > 40, "\(endings.count) texts were tried")
      }
      // What is valid but for one text of it comes as far as the statement of an upload.
      let error = await #expect(throws: RPCError.self) {
        try await world.client.uploadRecording(options: OnboardingWorld.options(ana)) { requests in
          let head = RecordingHead(
            uploadID: Self.text, contentType: "audio/mp4", sha256: .init([UInt8](repeating: 1, count: 32)), size: 3)
          try await requests.write(.init(head: head, data: .init([1, 2, 3])))
        }
      }
      #expect(error?.code == .invalidArgument && error?.reason == "UNSTORABLE_TEXT", "\(error as Any)")
    }
  }

  @Test("What other services ask of a person who is none is refused with a reason for programs (BB-06)")
  func noPerson() async throws {
    try await OnboardingWorld.with { world in
      try await world.withAccountData { data in
        for error in [
          await #expect(throws: RPCError.self) {
            try await data.report(.init(userID: "x"), options: OnboardingWorld.withoutSession())
          },
          await #expect(throws: RPCError.self) {
            try await data.delete(
              .init(userID: UUID.v7().description, workID: "x"), options: OnboardingWorld.withoutSession())
          },
        ] { #expect(error?.code == .invalidArgument && error?.reason == "INVALID_ARGUMENT", "\(error as Any)") }
      }
    }
  }

  @Test("No list of onboarding takes a token that was not made for it (BB-02)")
  func forged() async throws {
    try await OnboardingWorld.with(Self.settings) { world in
      let ana = try await world.signIn("ana")
      let paged = OnboardingAPI.OnboardingService.services.flatMap(\.methods).filter {
        $0.requestDescriptor.fields.contains { $0.name == "page_token" }
      }
      #expect(paged.map(\.name).sorted() == ["ListJobs", "ListUnfinished"])
      try await world.parley.withSecureChannel(to: world.instance, showing: .service) { secure in
        for method in paged {
          // Identifiers as they were tokens once, too.
          for token in ["?", "\u{0}", UUID.v7().description, "AAAAAAAAAAAAAAAAAAAAAA", String(repeating: "A", count: 4096)] {
            let step = RequestWalk(putting: token) { _, _ in nil }.step(of: method, field: "page_token")
            let error = try await step.send(over: secure, Self.options(method, ana))
            #expect(error?.code == .invalidArgument && error?.reason != nil, "\(method.name) \(token): \(error as Any)")
          }
        }
      }
    }
  }
}
