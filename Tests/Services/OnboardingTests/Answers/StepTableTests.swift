import ParleyAPI
import RPCClient
import Testing
import WellKnown

@Suite("The steps of the specification", .serialized)
struct StepTableTests {
  /// Section 4.2: number, type, fields, and the least seconds where it names any.
  private static let specified = [
    "1 explanation", "2 voice voice_commitment 10s", "3 text identity_name", "4 explanation",
    "5 voice biggest_lie 7s", "6 choice favorite_excuse", "7 voice last_failure 10s", "8 explanation",
    "9 text weakness_window", "10 voice procrastination_now 8s",
    "11 dual_sliders motivation_fear_intensity+motivation_desire_intensity", "12 choice time_waster",
    "13 explanation", "14 voice fear_version 8s", "15 choice disappointment_check", "16 voice morning_failure 6s",
    "17 explanation", "18 text quit_counter", "19 text daily_non_negotiable", "20 text commitment_time",
    "21 explanation", "22 voice sabotage_pattern 6s", "23 voice excuse_sophistication 7s",
    "24 choice accountability_style", "25 explanation", "26 voice success_memory 7s", "27 voice identity_goal 7s",
    "28 explanation", "29 text success_metric", "30 text transformation_date", "31 voice biggest_enemy 6s",
    "32 explanation", "33 text streak_target", "34 choice sacrifice_list", "35 voice war_cry 8s", "36 explanation",
    "37 time_window_picker evening_call_time", "38 text external_judge", "39 choice failure_threshold",
    "40 explanation", "41 voice oath_recording 6s", "42 voice identity_declaration 6s",
    "43 long_press_activate contract_seal 7s", "44 voice consequence_acceptance 6s", "45 explanation",
  ]

  @Test("O-01, O-02, O-20: the forty-five steps are those of the specification, with types, fields and least durations")
  func steps() async throws {
    try await OnboardingWorld.with { world in
      let steps = try await world.client.listSteps().steps.map { step in
        let seconds = step.minimumDuration.map { "\($0.seconds)s" }
        return (["\(step.number)", step.type, step.dbFields.joined(separator: "+"), seconds ?? ""]).filter { !$0.isEmpty }
          .joined(separator: " ")
      }
      for (step, row) in zip(steps, Self.specified) { #expect(step == row) }
      #expect(steps.count == Self.specified.count)
    }
  }
}
