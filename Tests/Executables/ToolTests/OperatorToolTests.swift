import Foundation
import Glibc
import JSON
import ParleyAPI
import Synchronization
import TestSupport
import Testing
import WellKnown

@testable import parley

@Suite("Command line: operators") struct OperatorToolTests {
  private let users = StubUsers()

  private func parley(_ place: OperatorPlace, _ arguments: String...) async throws -> ToolProcess.Ending {
    try await ToolProcess.parley(arguments, environment: place.environment)
  }

  @Test("Accounts are listed, all pages of them up to a number, as a table and as JSON, by what the options say")
  func list() async throws {
    try await users.serve { place in
      let table = try await parley(place, "admin", "user", "list")
      let lines = table.output.split(separator: "\n")
      #expect(lines.count == 4 && lines[0].hasPrefix("ID"), "\(table.errors)")
      #expect(lines[1].hasPrefix("user-1  default  google    ana   both@example.org  2026-01-02T04:04:05Z  2"))
      let json = try await parley(
        place, "admin", "user", "list", "--limit", "2", "--app", "default", "--provider", "google", "--since", "2026-01-02",
        "--until", "2026-01-03T00:00:00Z", "--suspended", "--json")
      let found = try parsed(json.output)["users"]?.array ?? []
      #expect(found.map { $0["user_id"]?.string } == ["user-1", "user-2"], "\(json.errors)")
      #expect(found[0]["live_sessions"]?.int64 == 2 && found[0]["subject"]?.string == "sub-ana")
      let asked = try #require(users.state.withLock { $0.lists.last })
      #expect(asked.app == "default" && asked.provider == .google && asked.suspendedOnly && asked.pageSize == 2)
      #expect(asked.createdSince?.seconds == 1_767_312_000 && asked.createdUntil?.seconds == 1_767_398_400)
    }
  }

  @Test(
    "A user is named by identifier, by the provider's, or by an address that no other has",
    arguments: [
      ("user-3", 0), ("google:sub-cy", 0), ("cy@example.org", 0), ("nobody", 1), ("x@example.org", 1), ("both@example.org", 64),
    ])
  func show(_ name: String, status: Int32) async throws {
    try await users.serve { place in
      let ending = try await parley(place, "admin", "user", "show", name)
      #expect(ending.status == status, "\(ending.errors)")
      switch status {
      case 0: #expect(ending.output.contains("user      user-3\n") || ending.output.contains("user-3\n"))
      case 1: #expect(ending.errors.contains("USER_NOT_FOUND"))
      default: #expect(ending.errors.contains("2 accounts") && ending.errors.contains("user-1, user-2"))
      }
    }
  }

  @Test("What operators change carries their certificate and their reason")
  func changes() async throws {
    try await users.serve { place in
      let suspended = try await parley(place, "admin", "user", "suspend", "cy@example.org", "--reason", "stolen phone")
      #expect(suspended.output == "suspended; ended 2 sessions\n", "\(suspended.errors)")
      let json = try parsed(try await parley(place, "admin", "user", "suspend", "user-3", "--reason", "r", "--json").output)
      #expect(json["suspension"]?["reason"]?.string == "r" && json["ended_sessions"]?.int64 == 2)
      #expect(
        try await parley(place, "admin", "user", "reinstate", "google:sub-cy", "--reason", "found").output == "reinstated\n")
      #expect(
        try await parley(place, "admin", "user", "sign-out", "user-3", "--all", "--reason", "r").output == "ended 2 sessions\n")
      let one = try await parley(place, "admin", "user", "sign-out", "user-3", "--session", "s", "--reason", "r", "--json")
      #expect(try parsed(one.output)["revoked"]?.int64 == 1)
      let who = "spiffe://parley/operator"
      #expect(
        users.state.withLock { $0.asked } == [
          "SuspendUser user-3 stolen phone \(who)", "SuspendUser user-3 r \(who)", "ReinstateUser user-3 found \(who)",
          "RevokeUserSessions user-3  r \(who)", "RevokeUserSessions user-3 s r \(who)",
        ])
      let sessions = try await parley(place, "admin", "user", "sessions", "user-3")
      #expect(sessions.output.split(separator: "\n").count == 3 && !sessions.output.contains("\u{1b}"), "\(sessions.errors)")
      let listed = try parsed(try await parley(place, "admin", "user", "sessions", "user-3", "--json").output)["sessions"]?.array
      #expect(listed?.map { $0["id"]?.string } == ["session-2", "session-1"])
    }
  }

  @Test("Tokens are stopped and resumed for everybody and for one person, and what is stopped is listed (AF-02)")
  func switches() async throws {
    try await users.serve { place in
      let (everybody, hash) = (String(repeating: "a", count: 32), "0123456789abcdef0123456789abcdef")
      let all = try await parley(place, "admin", "broker", "stop", "--reason", "leaked")
      #expect(all.output == "stopped * for everybody\n", "\(all.errors)")
      let person = try await parley(
        place, "admin", "broker", "stop", "speech", "--subject", "google:sub-ana", "--reason", "abuse")
      #expect(person.output == "stopped speech for \(everybody)\n", "\(person.errors)")
      let json = try await parley(place, "admin", "broker", "resume", "--subject", hash, "--reason", "found", "--json")
      let found = try parsed(json.output)
      #expect(found["stopped"]?.bool == false && found["subject_hash"]?.string == hash)
      #expect(found["changed_by"]?.string == "spiffe://parley/operator")
      #expect(
        users.switches.asked.withLock { $0 } == [
          .init(capability: "*", stopped: true, reason: "leaked"),
          .init(capability: "speech", stopped: true, reason: "abuse", subject: "sub-ana"),
          .init(capability: "*", stopped: false, reason: "found", subjectHash: hash),
        ])
      let table = try await parley(place, "admin", "broker", "switches")
      let lines = table.output.split(separator: "\n")
      #expect(lines.count == 4 && lines[1].hasPrefix("*") && lines[1].contains("everybody"), "\(table.errors)")
      #expect(lines[3].contains(hash) && lines[3].contains("open"))
    }
  }

  @Test("The audit is listed as a table and as JSON, by what the options say")
  func audit() async throws {
    for number in 1...5 { users.add(number, at: 1_767_326_640 + Int64(number), "signed_in", note: number == 5 ? "a\nword" : "") }
    try await users.serve { place in
      let table = try await parley(place, "audit", "--limit", "3")
      let lines = table.output.split(separator: "\n")
      #expect(lines.count == 4 && lines[0].hasPrefix("AT"), "\(table.errors)")
      #expect(lines[1].hasPrefix("2026-01-02T04:04:05Z  signed_in  done") && lines[1].hasSuffix("192.0.2.1  a\\u{a}word"))
      let json = try await parley(
        place, "audit", "--user", "cy@example.org", "--action", "signed_in", "--outcome", "done", "--reason", "X", "--since",
        "2026-01-01", "--until", "2027-01-01", "--json")
      let entries = try parsed(json.output)["entries"]?.array ?? []
      #expect(entries.map { $0["id"]?.string } == (1...5).reversed().map { "entry-\($0)" }, "\(json.errors)")
      #expect(entries.first?["kind"]?.string == "activity" && entries.first?["actor"]?.string == "self")
      let asked = try #require(users.state.withLock { $0.audits.last })
      #expect(asked.userID == "user-3" && asked.action == "signed_in" && asked.outcome == "done" && asked.reason == "X")
      #expect(asked.since?.seconds == 1_767_225_600 && asked.until?.seconds == 1_798_761_600)
    }
  }

  @Test("Whoever follows the audit sees each entry once, the oldest first, also one that comes late")
  func follow() async throws {
    for number in [1, 2, 4] { users.add(number, at: 1_767_326_640 + Int64(number), "signed_in") }
    try await users.serve { place in
      let tool = try ToolConversation(["audit", "--follow", "--json"] + place.arguments)
      func next() async throws -> String { try parsed(try await tool.line() ?? "{}")["id"]?.string ?? "" }
      for number in [1, 2, 4] { #expect(try await next() == "entry-\(number)") }
      // Made before the last one that was shown, and visible only now.
      users.add(3, at: 1_767_326_643, "signed_in")
      #expect(try await next() == "entry-3")
      users.add(5, at: 1_767_326_660, "session_ended")
      users.add(6, at: 1_767_326_661, "session_ended")
      #expect(try await next() == "entry-5")
      #expect(try await next() == "entry-6")
      let looks = users.looks.value
      try await users.looks.reaches(looks + 3)
      users.add(7, at: 1_767_326_662, "session_ended")
      #expect(try await next() == "entry-7")
      tool.signal(SIGINT)
      #expect(try await tool.ending().status == 128 + SIGINT)
    }
  }

  @Test(
    "Wrong usage by an operator ends with 64 and says what is wrong",
    arguments: [
      (["admin", "user", "list"], "PARLEY_OPERATOR_CERTIFICATE"), (["audit"], "PARLEY_OPERATOR_CERTIFICATE"),
      (["admin", "user", "suspend", "x"], "--reason"), (["admin", "user", "sign-out", "x", "--reason", "y"], "--all"),
      (["admin", "user", "sign-out", "x", "--reason", "y", "--all", "--session", "z"], "--all"),
      (["admin", "broker", "stop"], "--reason"), (["admin", "broker", "stop", "--subject", "ana", "--reason", "x"], "--subject"),
      (["admin", "user", "list", "--limit", "0"], "--limit"), (["audit", "--since", "yesterday"], "--since"),
      (["audit", "--follow", "--until", "2026-01-01"], "--follow"), (["admin", "user", "show", ""], "user"),
    ])
  func usage(_ arguments: [String], _ text: String) async throws {
    let ending = try await ToolProcess.parley(arguments + ["--target", "127.0.0.1:1"])
    #expect(ending.status == 64 && ending.errors.contains(text), "\(ending.errors)")
  }

  @Test(
    "Times are days, moments, or how long ago",
    arguments: [
      ("2026-01-31", 1_769_817_600), ("2026-01-31T12:00:00Z", 1_769_860_800), ("2026-01-31T12:00:00+02:00", 1_769_853_600),
      ("90m", 994_600), ("12h", 956_800), ("7d", 395_200), ("0s", 1_000_000), ("", nil), ("x", nil), ("d", nil), ("-1d", nil),
      ("2026-13-01", nil), ("1.5h", nil),
    ] as [(String, Int64?)])
  func times(_ text: String, seconds: Int64?) {
    #expect(TimeArgument(text, now: Date(timeIntervalSince1970: 1_000_000))?.seconds == seconds)
  }
}
