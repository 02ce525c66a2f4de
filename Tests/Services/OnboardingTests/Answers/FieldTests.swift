import AuthDomain
import EventLoop
import Foundation
import JOSE
import JSON
import MessagesCore
import OnboardingAPI
import Outbound
import ParleyAPI
import PostgreSQL
import RPC
import RPCClient
import ServiceKit
import TestParley
import TestSandbox
import TestSupport
import Testing
import WellKnown

@Suite("The sixty fields", .serialized)
struct FieldTests {
  /// As 4.7 of the specification has them: the 34 of the steps, 11 of the profile, 10 that move the person, 5 of the mirror.
  private static let all = """
    voice_commitment identity_name biggest_lie favorite_excuse last_failure weakness_window procrastination_now
    motivation_fear_intensity motivation_desire_intensity time_waster fear_version disappointment_check morning_failure quit_counter
    daily_non_negotiable commitment_time sabotage_pattern excuse_sophistication accountability_style success_memory identity_goal
    success_metric transformation_date biggest_enemy streak_target sacrifice_list war_cry evening_call_time external_judge
    failure_threshold oath_recording identity_declaration contract_seal consequence_acceptance
    current_identity aspirated_identity fear_identity core_struggle primary_excuse sabotage_method weakness_time_window
    procrastination_focus last_major_failure past_success_story accountability_trigger
    shame_trigger financial_pain_point relationship_damage_specific breaking_point_event self_sabotage_pattern
    accountability_history current_self_summary aspirational_identity_gap non_negotiable_commitment war_cry_or_death_vision
    current_struggle nightmare_self empty_excuse success_legacy betrayal_cost
    """.split { $0 == " " || $0 == "\n" }.map(String.init)

  @Test("O-31: the sixty are those of the specification, and what an app keeps under a name of its own is none of them")
  func counted() async throws {
    try await OnboardingWorld.with(OnboardingWorld.operated) { world in
      let ana = try await world.signIn("ana")
      let options = OnboardingWorld.options(ana)
      var state = try OnboardingWorld.record(voices: 0)
      state.responses["99"] = .written("green", keptAs: ["favourite_dragon"])
      let answer = try await world.client.complete(.init(state: state), options: options)
      #expect(answer.identityExtraction?.success == true && answer.identityExtraction?.fieldsExtracted == 60, "\(answer)")
      #expect(try await world.client.reExtract(options: options).fieldsExtracted == 60)
      let fields = try await world.identity.getIdentity(options: options).identity?.fields.map(\.name)
      #expect(Self.all.count == 60 && fields == Self.all, "\(fields as Any)")
      #expect(try await world.value("select value from onboarding.answer where step = 99", as: String.self) == "green")
      try await world.asOperator { admin in
        let shown = try await admin.inspectOnboarding(
          .init(userID: ana.userID.description), options: OnboardingWorld.withoutSession())
        #expect(shown.fieldsExtracted == 60 && shown.sources.reduce(0) { $0 + $1.fields } == 60, "\(shown.sources)")
      }
    }
  }

  @Test("O-31, O-32: where nothing was said there is no identity data: no success, nobody is paid, and nothing is tried again")
  func nothing() async throws {
    try await OnboardingWorld.with { world in
      let ana = try await world.signIn("ana")
      let state = OnboardingState(responses: ["2": .spoken(try SpokenFiles.silence())])
      let answer = try await world.client.complete(.init(state: state), options: OnboardingWorld.options(ana))
      #expect(answer.success && answer.submission?.stage == .done, "\(answer)")
      #expect(
        answer.identityExtraction == .init(success: false, fieldsExtracted: 0, voiceTranscribed: 0, error: "no_identity_data"))
      #expect(try await world.sandbox.requests("/openai/v1/chat/completions") == 0)
      #expect(try await world.submissionJobs() == 0)
    }
  }
}
