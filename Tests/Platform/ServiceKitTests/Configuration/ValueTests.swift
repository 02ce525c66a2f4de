import EventLoop
import Logging
import RPCServer
import ServiceKit
import Testing

@Suite("Types of settings")
struct ValueTests {
  @Test(
    "Durations have a unit or are seconds",
    arguments: [
      ("250ms", Duration.milliseconds(250)), ("30s", .seconds(30)), ("5m", .seconds(300)), ("2h", .seconds(7_200)),
      ("45", .seconds(45)),
      ("0", .zero), ("0ms", .zero), ("90m", .seconds(5_400)),
    ])
  func durations(_ text: String, _ expected: Duration) {
    #expect(Duration(configurationText: text) == expected)
  }

  @Test(
    "What is no duration is refused",
    arguments: ["", "s", "-1s", "+1s", "1.5s", "1 s", "1d", "ms", "99999999999999999999s", "9223372036854775807h", "٣s"])
  func noDurations(_ text: String) {
    #expect(Duration(configurationText: text) == nil)
  }

  @Test(
    "A duration is written so that it reads the same",
    arguments: [Duration.zero, .milliseconds(250), .seconds(90), .seconds(60), .seconds(7_200), .milliseconds(1_500)])
  func durationText(_ duration: Duration) {
    #expect(Duration(configurationText: duration.configurationText) == duration)
  }

  @Test(
    "Booleans have four spellings each",
    arguments: [
      ("true", true), ("Yes", true), ("on", true), ("1", true), ("FALSE", false), ("no", false), ("off", false), ("0", false),
    ])
  func booleans(_ text: String, _ expected: Bool) {
    #expect(Bool(configurationText: text) == expected)
  }

  @Test("What is neither is refused", arguments: ["", "2", "ja", "t", "true "])
  func noBooleans(_ text: String) {
    #expect(Bool(configurationText: text) == nil)
  }

  @Test("Lists are separated by commas; blanks and empty parts do not count")
  func lists() {
    #expect([String](configurationText: " a, b ,,c\n") == ["a", "b", "c"])
    #expect([String](configurationText: "") == [])
    #expect([Int](configurationText: "1, 2") == [1, 2])
    #expect([Int](configurationText: "1, x") == nil)
  }

  @Test("Addresses, levels and origins")
  func others() {
    #expect(SocketAddress(configurationText: "[::1]:80")?.description == "[::1]:80")
    #expect(SocketAddress(configurationText: "localhost:80") == nil)
    #expect(Logger.Level(configurationText: "debug") == .debug)
    #expect(Logger.Level(configurationText: "loud") == nil)
    #expect(CORSOrigins(configurationText: "*") == .any)
    #expect(CORSOrigins(configurationText: "none") == .list([]))
    #expect(
      CORSOrigins(configurationText: "https://a.example, https://b.example:8443")
        == .list(["https://a.example", "https://b.example:8443"]))
  }

  @Test(
    "What is no origin is refused",
    arguments: [
      "", "a.example", "https://", "https://a.example/", "https://a.example/x", "https://*.example", "*,https://a.example",
    ])
  func noOrigins(_ text: String) {
    #expect(CORSOrigins(configurationText: text) == nil)
  }

  @Test(
    "A file mode is octal, with three digits or four",
    arguments: [
      ("0660", 0o660), ("660", 0o660), ("000", 0), ("0777", 0o777), ("1777", nil), ("888", nil), ("66", nil), ("00660", nil),
      ("-66", nil), ("rw-rw----", nil), ("", nil),
    ] as [(String, UInt32?)])
  func modes(_ text: String, _ bits: UInt32?) {
    #expect(FileMode(configurationText: text)?.bits == bits)
    if let bits { #expect(FileMode(configurationText: FileMode(bits).configurationText)?.bits == bits) }
  }

  @Test("A group is known by its name or its number")
  func groups() {
    #expect(SystemGroup(configurationText: "root")?.number == 0)
    #expect(SystemGroup(configurationText: "1234")?.number == 1_234)
    #expect(SystemGroup(configurationText: "root")?.configurationText == "root")
    for text in ["", "no-such-group-here", "-1", "4294967295"] { #expect(SystemGroup(configurationText: text) == nil, "\(text)") }
  }

  @Test(
    "A client's identity is a SPIFFE identity or a DNS name in lower case",
    arguments: [
      ("spiffe://parley/billing", "spiffe://parley/billing"), ("Billing.internal", "billing.internal"), ("http://x/y", nil),
      ("spiffe://PARLEY/x", nil), ("a b", nil), ("", nil), ("billing,internal", nil), ("*.internal", nil),
    ] as [(String, String?)])
  func identities(_ text: String, _ expected: String?) {
    #expect(ClientIdentity(configurationText: text)?.configurationText == expected)
  }
}
