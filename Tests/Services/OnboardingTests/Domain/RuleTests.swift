import Audio
import OnboardingDomain
import Testing

@Suite("Rules of onboarding")
struct RuleTests {
  @Test(
    "Steps come as N or step_N, from 1 to 99, and as nothing else",
    arguments: [
      ("1", 1), ("step_1", 1), ("45", 45), ("step_99", 99), ("07", 7), ("0", nil), ("100", nil), ("step_", nil), ("step_0", nil),
      ("", nil),
      ("-1", nil), (" 1", nil), ("1.0", nil), ("STEP_1", nil), ("١", nil),
    ] as [(String, Int?)])
  func keys(_ key: String, _ step: Int?) { #expect(StepKey.step(key) == step) }

  /// A part of an answer, as large as it may be and larger.
  struct Bound: Sendable {
    let field: String
    let within: @Sendable (inout ReceivedAnswer) -> Void
    let beyond: @Sendable (inout ReceivedAnswer) -> Void

    init(
      _ field: String, _ within: @escaping @Sendable (inout ReceivedAnswer) -> Void,
      _ beyond: @escaping @Sendable (inout ReceivedAnswer) -> Void
    ) {
      (self.field, self.within, self.beyond) = (field, within, beyond)
    }
  }

  private static func answer(_ change: (inout ReceivedAnswer) -> Void) -> ReceivedAnswer {
    var answer = ReceivedAnswer(step: 1, type: "text", content: .text("x"), fields: ["a"])
    change(&answer)
    return answer
  }

  private static func text(_ count: Int) -> String { String(repeating: "é", count: count / 2) }

  @Test(
    "An answer at its bounds is taken, and one beyond them is refused with the part that is",
    arguments: [
      Bound("value", { $0.content = .text(RuleTests.text(65_536)) }, { $0.content = .text(RuleTests.text(65_536) + "x") }),
      Bound("db_field", { $0.fields = (1...8).map { "f\($0)" } }, { $0.fields = (1...9).map { "f\($0)" } }),
      Bound("db_field", { $0.fields = [RuleTests.text(64)] }, { $0.fields = ["a", RuleTests.text(64) + "x"] }),
      Bound("type", { $0.type = RuleTests.text(32) }, { $0.type = RuleTests.text(32) + "x" }),
      Bound("audio_format", { $0.format = RuleTests.text(32) }, { $0.format = RuleTests.text(32) + "x" }),
      Bound("voice_uri", { $0.voiceURI = RuleTests.text(2_048) }, { $0.voiceURI = RuleTests.text(2_048) + "x" }),
      Bound("value", { $0.content = .text("\u{1}") }, { $0.content = .text("a\u{0}b") }),
      Bound("db_field", { $0.fields = [] }, { $0.fields = ["a\u{0}"] }), Bound("type", { $0.type = "" }, { $0.type = "\u{0}" }),
      Bound("audio_format", { $0.format = "" }, { $0.format = "\u{0}" }),
      Bound("voice_uri", { $0.voiceURI = "" }, { $0.voiceURI = "\u{0}" }),
    ])
  func bounds(_ bound: Bound) {
    let (field, within, beyond) = (bound.field, bound.within, bound.beyond)
    #expect(Self.answer(within).fault == nil)
    #expect(Self.answer(beyond).fault?.field == field)
  }

  @Test(
    "A window is a time, or two; it may go past midnight",
    arguments: [
      ("20:30-21:00", 1_230, 30), ("20:30", 1_230, 30), ("23:45-00:15", 1_425, 30), ("8:05", 485, 30),
      (" 20:30 - 22:00 ", 1_230, 90),
      ("00:00-23:59", 0, 1_439), ("20:30-20:30", nil, 0), ("24:00", nil, 0), ("20:60", nil, 0), ("20", nil, 0), ("20:3", nil, 0),
      ("a:bc", nil, 0), ("20:30-21:00-22:00", nil, 0), ("", nil, 0),
    ] as [(String, Int?, Int)])
  func windows(_ text: String, _ start: Int?, _ minutes: Int) {
    let window = CallWindow(text)
    #expect(window?.start == start)
    if start != nil { #expect(window?.minutes == minutes) }
  }

  private static func candidate(_ number: UInt8, _ seconds: Int, _ size: Int64 = 100_000) -> SampleChoice.Candidate {
    .init(digest: [number], size: size, duration: .seconds(seconds))
  }

  @Test("O-41: the longest recordings are taken until there are 30 seconds, of 1 KiB each at least and 10 MB together at most")
  func samples() {
    let some = [Self.candidate(1, 9), Self.candidate(2, 20), Self.candidate(3, 12), Self.candidate(4, 2)]
    #expect(SampleChoice.samples(of: some).map(\.digest) == [[2], [3]])
    #expect(SampleChoice.samples(of: [Self.candidate(1, 15), Self.candidate(2, 14)]).isEmpty)
    #expect(SampleChoice.samples(of: [Self.candidate(1, 15), Self.candidate(2, 15)]).count == 2)
    // The same recording twice is one voice's worth once.
    #expect(SampleChoice.samples(of: [Self.candidate(1, 20), Self.candidate(1, 20)]).isEmpty)
    // 1 KiB at least each, 10 MB at most together.
    #expect(SampleChoice.samples(of: [Self.candidate(1, 40, 1_023)]).isEmpty)
    #expect(SampleChoice.samples(of: [Self.candidate(1, 40, 1_024)]).count == 1)
    let large = [Self.candidate(1, 20, 6_000_000), Self.candidate(2, 19, 6_000_000), Self.candidate(3, 18, 4_000_000)]
    #expect(SampleChoice.samples(of: large).map(\.digest) == [[1], [3]])
  }

  @Test("A voice is made anew once a calendar month, in UTC")
  func allowance() {
    #expect(CloneAllowance.isOpen(last: nil, now: "2026-11-01T00:00:00Z"))
    #expect(!CloneAllowance.isOpen(last: "2026-11-01T00:00:00Z", now: "2026-11-30T23:59:59Z"))
    #expect(CloneAllowance.isOpen(last: "2026-11-30T23:59:59Z", now: "2026-12-01T00:00:00Z"))
    #expect(CloneAllowance.isOpen(last: "2026-12-31T23:59:59Z", now: "2027-01-01T00:00:00Z"))
  }

  @Test(
    "A voice may be made anew from the first moment of the next month on",
    arguments: [
      ("2026-11-01T00:00:00.000000Z", "2026-12-01T00:00:00Z"), ("2026-11-30T23:59:59.999999Z", "2026-12-01T00:00:00Z"),
      ("2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"), ("2028-02-29T12:00:00Z", "2028-03-01T00:00:00Z"),
      ("2026-09-30T23:59:59Z", "2026-10-01T00:00:00Z"), ("infinity", nil), ("", nil),
    ] as [(String, String?)])
  func openings(_ last: String, _ opening: String?) {
    #expect(CloneAllowance.opening(after: last) == opening)
    guard let opening else { return }
    #expect(CloneAllowance.isOpen(last: last, now: opening))
  }

  @Test("What failed is tried again after 1, 5 and 30 minutes, 2 and 12 hours, and then no more")
  func rounds() {
    let pauses = (1...6).map { RetryPlan.pause(before: $0) }
    #expect(pauses == [.seconds(60), .seconds(300), .seconds(1_800), .seconds(7_200), .seconds(43_200), nil])
    #expect(RetryPlan.pause(before: 0) == nil)
  }

  @Test(
    "A submission whose job is gone gets one at once, then after 1, 5 and 30 minutes and 2 hours, and then is given up",
    arguments: [
      (0, nil, .again), (1, 59, .notYet), (1, 60, .again), (2, 299, .notYet), (2, 300, .again), (3, 1_799, .notYet),
      (3, 1_800, .again), (4, 7_199, .notYet), (4, 7_200, .again), (5, 0, .givingUp), (6, 0, .givingUp),
    ] as [(Int, Int?, RetryPlan.Renewal)])
  func renewals(_ count: Int, _ passed: Int?, _ renewal: RetryPlan.Renewal) {
    #expect(RetryPlan.renewal(after: count, passed.map { .seconds($0) }) == renewal)
  }

  @Test(
    "A text is kept without U+0000", arguments: [("a\u{0}b\u{0}", "ab"), ("", ""), ("\u{0}", ""), ("é\u{0}\u{301}", "é\u{301}")])
  func storable(_ text: String, _ kept: String) {
    #expect(
      text.storable.unicodeScalars.elementsEqual(kept.unicodeScalars) && kept.isStorable && text.isStorable == (text == kept))
  }

  @Test("A U+0000 is seen wherever it stands in a text of any length, and bytes like it are not taken for one (PF-15)")
  func zeroes() {
    // What is next to zero, and what has its highest bit set, beside each other in all ways.
    for filler: Character in ["\u{1}", "a", "\u{7f}", "\u{80}", "\u{ff}", "\u{10fffd}"] {
      for count in 0..<40 {
        let text = String(repeating: filler, count: count)
        #expect(text.isStorable)
        for place in 0...count {
          let cut = text.index(text.startIndex, offsetBy: place)
          #expect(!(text[..<cut] + "\u{0}" + text[cut...]).description.isStorable, "\(place) of \(count)")
        }
      }
    }
    let long = String(repeating: "AAAA", count: 1 << 18)
    #expect(long.isStorable && !(long + "\u{0}").isStorable && !("\u{0}" + long).isStorable)
  }

  @Test("A place in the course of events is read as it was written", arguments: ["a:0", "0197-x:12", "a:9223372036854775807"])
  func positions(_ text: String) { #expect(ProgressPosition(text)?.description == text) }

  @Test("What is no place is refused", arguments: ["", "a", ":1", "a:", "a:-1", "a:1:2", "a:9223372036854775808", "a: 1"])
  func noPositions(_ text: String) { #expect(ProgressPosition(text) == nil) }

  @Test("Two sliders are two fields, and words that nobody said are no evidence")
  func drafts() {
    let answers = [
      StatedAnswer(step: 11, fields: ["a", "b"], text: "7, 9", isSpoken: false),
      StatedAnswer(step: 5, fields: ["biggest_lie"], text: " I will do it tomorrow ", isSpoken: true),
      StatedAnswer(step: 9, fields: ["weakness_window"], text: "  ", isSpoken: false),
    ]
    var draft = IdentityDraft(answers)
    #expect(
      draft.facts.map { "\($0.name)=\($0.value) \($0.source.rawValue)" } == [
        "a=7 answer", "b=9 answer", "biggest_lie=I will do it tomorrow transcript",
      ])
    draft.add(
      [
        .init("core_struggle", "Delays", quote: "do it tomorrow", step: 11),
        .init("shame_trigger", "None", quote: "never said", step: 5),
        .init("fear_identity", " ", quote: "tomorrow"), .init("no_such_field", "x"),
      ], by: "m", from: answers)
    let concluded = draft.facts.filter { $0.source == .model }
    // The quote is found where it was said, whatever step the model named.
    #expect(concluded.map { "\($0.name) \($0.step) \($0.quote)" } == ["core_struggle 5 do it tomorrow", "shame_trigger 5 "])
    #expect(IdentityDraft.summary(of: []).contains("pending"))
    #expect(IdentityDraft.summary(of: draft.facts) == "Struggle: Delays")
  }

  @Test("A catalogue numbers its steps without gaps, and no field belongs to two")
  func catalogues() throws {
    func step(_ number: Int, _ fields: [String] = []) -> CatalogueStep {
      CatalogueStep(number: number, phase: "P", type: .text, fields: fields)
    }
    #expect(try StepCatalogue(version: 1, steps: [step(1, ["a"]), step(2, ["b"])]).step(of: "b") == 2)
    #expect(throws: StepCatalogue.Fault.self) { try StepCatalogue(version: 1, steps: [step(1), step(3)]) }
    #expect(throws: StepCatalogue.Fault.self) { try StepCatalogue(version: 1, steps: [step(1, ["a"]), step(2, ["a"])]) }
    #expect(throws: StepCatalogue.Fault.self) { try StepCatalogue(version: 1, steps: []) }
    #expect(throws: StepCatalogue.Fault.self) { try StepCatalogue(version: 0, steps: [step(1)]) }
  }
}

@Suite("Damaged recordings")
struct DamageTests {
  @Test("Of the errors of the tools, those are damage that the same file brings again")
  func words() {
    let all: [AudioError.Code] = [
      .unreadable, .hasVideo, .tooLarge, .tooLong, .empty, .tooExpensive, .timedOut, .toolMissing, .toolFailed, .cancelled,
    ]
    for code in all { #expect(RecordingDamage.words.contains("audio_\(code)") == AudioError(code).isPermanent, "\(code)") }
  }
}
