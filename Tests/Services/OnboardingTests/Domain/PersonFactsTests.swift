import OnboardingDomain
import Testing

@Suite("What answers say of a person")
struct PersonFactsTests {
  /// What an app sent, and what it says.
  struct Case: Sendable, CustomStringConvertible {
    var description: String
    var answers: [ReceivedAnswer] = []
    var name: String?
    var callTime: String?
    var zone: String?
    var deviceZone: String?
    var facts: String

    init(
      _ description: String, _ answers: [ReceivedAnswer] = [], name: String? = nil, callTime: String? = nil, zone: String? = nil,
      deviceZone: String? = nil, facts: String
    ) {
      (self.description, self.answers, self.facts) = (description, answers, facts)
      (self.name, self.callTime, self.zone, self.deviceZone) = (name, callTime, zone, deviceZone)
    }
  }

  private static func named(_ text: String) -> ReceivedAnswer {
    ReceivedAnswer(step: 3, type: "text", content: .text(text), fields: ["identity_name"])
  }

  private static func window(_ text: String) -> ReceivedAnswer {
    ReceivedAnswer(step: 37, type: "time_window_picker", content: .text(text), fields: ["evening_call_time"])
  }

  private static func selected(_ zone: String) -> ReceivedAnswer {
    ReceivedAnswer(step: 50, type: "timezone_selection", content: .text(zone))
  }

  @Test(
    "O-36: name, zone and window come from the record, then from answers, then from the device, and else are User and UTC",
    arguments: [
      Case("nothing", facts: "User UTC -"),
      Case("the record's name first", [named("Ben")], name: " Ana ", facts: "Ana UTC -"),
      Case("a blank name is none", [named(" Ben ")], name: "  ", facts: "Ben UTC -"),
      Case("no name in either", [named(" ")], name: "", facts: "User UTC -"),
      Case(
        "a recording is no name", [ReceivedAnswer(step: 3, type: "voice", content: .recording([1]), fields: ["identity_name"])],
        facts: "User UTC -"),
      Case(
        "the record's zone first", [selected("Asia/Tokyo")], zone: "Europe/Berlin", deviceZone: "America/Lima",
        facts: "User Europe/Berlin -"),
      Case(
        "an unknown zone is none", [selected("Asia/Tokyo")], zone: "Europe/Atlantis", deviceZone: "America/Lima",
        facts: "User Asia/Tokyo -"),
      Case("then the device's", [selected("somewhere")], zone: "", deviceZone: "America/Lima", facts: "User America/Lima -"),
      Case("a device in no zone", deviceZone: "PST8", facts: "User UTC -"),
      Case("the answer's window first", [window("20:30-21:00")], callTime: "08:00", facts: "User UTC 1230+30"),
      Case(
        "a window that cannot be read is none", [window("in the evening")], callTime: "23:45-00:15", facts: "User UTC 1425+30"),
      Case("no window in either", [window("")], callTime: "25:00", facts: "User UTC -"),
    ])
  func facts(_ given: Case) {
    let zones: Set = ["Europe/Berlin", "Asia/Tokyo", "America/Lima"]
    let facts = PersonFacts(
      given.answers, name: given.name, callTime: given.callTime, zone: given.zone, deviceZone: given.deviceZone,
      isZone: zones.contains)
    let window = facts.window.map { "\($0.start)+\($0.minutes)" } ?? "-"
    #expect("\(facts.name) \(facts.zone) \(window)" == given.facts)
  }

  @Test(
    "O-36: a window is written as it was read, with its end, also past midnight",
    arguments: ["20:30-21:00", "23:45-00:15", "00:00-23:59"])
  func windows(_ text: String) {
    let window = CallWindow(text)
    #expect(window?.text == text && CallWindow(start: window?.start, minutes: window?.minutes) == window)
    #expect(CallWindow("8:05")?.text == "08:05-08:35" && CallWindow(start: nil, minutes: 30) == nil)
  }

  @Test("O-36: a name has at most a hundred characters")
  func longName() {
    let facts = PersonFacts([], name: String(repeating: "é", count: 101), callTime: nil, zone: nil) { _ in true }
    #expect(facts.name == String(repeating: "é", count: 100))
  }

  @Test(
    "O-19, O-28: a data URL, a reference and the place of a recording are nothing that was said",
    arguments: [
      ("I run at six", true, true), ("data:audio/m4a;base64,AAAA", false, false), ("DATA:image/png;base64,AA", false, false),
      ("data:;base64,AA", false, false), ("data: and/or facts", true, true), ("data:a,b/c", true, true),
      ("recording:00", false, false), ("file:///a/b.m4a", false, true), (" HTTPS://example.com/a ", false, true),
      ("/var/mobile/a.m4a", false, true), ("file:/a", false, true), ("https://example.com is where", true, true),
      ("and/or", true, true), ("Note: this", true, true), ("a:/b", true, true), ("ph://ABC/L0", false, true),
    ] as [(String, Bool, Bool)])
  func said(_ text: String, _ spoken: Bool, _ written: Bool) {
    #expect(text.isSaid(as: "voice") == spoken)
    #expect(text.isSaid(as: "text") == written)
  }
}
