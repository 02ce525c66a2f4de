import OnboardingDomain
import Testing

@Suite("A person in a line")
struct SummaryTests {
  @Test("O-31: six snippets of at most 120, 80, 60, 80, 60 and 50 characters, joined by bars")
  func cuts() {
    let fields = [
      "daily_non_negotiable", "favorite_excuse", "fear_version", "core_struggle", "identity_goal", "current_identity",
    ]
    let facts = fields.map { IdentityFact($0, String(repeating: "é", count: 200), .answer) }
    func cut(_ count: Int) -> String { String(repeating: "é", count: count) }
    #expect(
      IdentityDraft.summary(of: facts)
        == "Identity: \(cut(120)) | Goal: \(cut(80)) | Struggle: \(cut(60)) | Fear: \(cut(80)) | Excuse: \(cut(60)) | Daily: \(cut(50))"
    )
  }

  @Test("O-38: the bar is at 40, 80 and 100, and what is given up has come no further than it was")
  func percents() {
    let stages: [SubmissionStage] = [.received, .storing, .transcribing, .extracting, .cloning, .done]
    #expect(stages.map { $0.percent(after: nil) } == [40, 40, 80, 80, 80, 100])
    #expect(stages.dropLast().map { SubmissionStage.failed.percent(after: $0) } == [40, 40, 80, 80, 80])
    #expect(SubmissionStage.failed.percent(after: nil) == 40)
    // O-34
    #expect(SubmissionStage.allCases == stages + [.failed] && stages == stages.sorted())
  }
}
