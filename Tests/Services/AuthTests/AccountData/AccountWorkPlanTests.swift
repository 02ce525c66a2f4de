import AuthDomain
import Testing
import Values

@Suite("Exports and deletions: the plan") struct AccountWorkPlanTests {
  private static let plan = AccountWorkPlan(services: ["notes", "calls"], providers: ["apple"])

  private static func work(_ kind: AccountWork.Kind, done: [StepName]) -> AccountWork {
    let now = Instant(seconds: 1)
    return AccountWork(
      id: AccountWorkID(high: 1, low: 1), user: UserID(high: 1, low: 2), app: "default", kind: kind, createdAt: now,
      steps: plan.steps(of: kind).map { AccountWork.Step($0, doneAt: done.contains($0) ? now : nil) })
  }

  @Test("AUTH-M9: a deletion begins at the providers and ends at home, where it is known what is left to do")
  func order() {
    let steps = Self.plan.steps(of: .deletion).map(\.rawValue)
    #expect(steps == ["provider.apple", "service.notes", "service.calls", "service.auth"])
    #expect(Self.plan.steps(of: .export).map(\.rawValue) == ["service.auth", "service.notes", "service.calls"])
  }

  @Test("AUTH-M9: the own part of a deletion is due when every other one is done, and not before")
  func due() {
    let others: [StepName] = [.provider("apple"), .service("notes"), .service("calls")]
    for count in 0...3 {
      for done in [Array(others.prefix(count)), Array(others.suffix(count))] {
        let due = Self.plan.due(Self.work(.deletion, done: done))
        #expect(due == (count == 3 ? [.own] : others.filter { !done.contains($0) }))
      }
    }
    #expect(Self.plan.due(Self.work(.deletion, done: others + [.own])).isEmpty)
    #expect(Self.plan.due(Self.work(.export, done: [.own])) == [.service("notes"), .service("calls")])
    var over = Self.work(.export, done: [])
    over.doneAt = Instant(seconds: 2)
    #expect(Self.plan.due(over).isEmpty)
  }

  @Test("What a service counts after its deletion is in the report, and nothing may stay without a reason")
  func counts() {
    let held = [AccountWork.Count("bills", held: 2, whyHeld: "The law."), AccountWork.Count("notes")]
    let merged = AccountWorkPlan.merged(deleted: [AccountWork.Count("notes", deleted: 3, held: 9)], held: held)
    #expect(merged == [AccountWork.Count("notes", deleted: 3), AccountWork.Count("bills", held: 2, whyHeld: "The law.")])
    #expect(AccountWorkPlan.remainder(of: held) == nil)
    #expect(AccountWorkPlan.remainder(of: held + [AccountWork.Count("calls", held: 1)]) == "calls")
  }

  @Test("AUTH-S6: whoever was seen five minutes ago to the second gets in; a second more, and they do not")
  func stepUp() throws {
    let rule = StepUpRule()
    for age in [-30, 0, 299, 300] { try rule.judge(authenticatedAt: 1_000, at: Instant(seconds: 1_000 + Int64(age))) }
    // `auth_time` has whole seconds, so the last one counts to its end.
    try rule.judge(authenticatedAt: 1_000, at: Instant(microseconds: 1_300_999_999))
    for age in [301, 86_400, Int64.max / 4] as [Int64] {
      let refusal = #expect(throws: AccountRefusal.self) {
        try rule.judge(authenticatedAt: 1_000, at: Instant(seconds: 1_000 + age))
      }
      #expect(refusal?.kind == .stepUpRequired && refusal?.hints == ["max_age_seconds": "300"])
    }
  }

  @Test("An export can be downloaded when it is done, was not given up and has not run out")
  func canBeDownloaded() {
    var work = Self.work(.export, done: [])
    let (now, later) = (Instant(seconds: 10), Instant(seconds: 20))
    #expect(!work.canBeDownloaded(at: now))
    (work.doneAt, work.expiresAt) = (now, later)
    #expect(work.canBeDownloaded(at: now) && work.canBeDownloaded(at: Instant(microseconds: 19_999_999)))
    #expect(!work.canBeDownloaded(at: later))
    work.failure = "too_large"
    #expect(!work.canBeDownloaded(at: now))
  }
}
