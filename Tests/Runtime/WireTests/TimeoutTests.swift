import ConnectWire
import RPC
import Testing

@Suite("The value of grpc-timeout") struct TimeoutTests {
  @Test(
    "A timeout is never shorter after it was written",
    arguments: [
      .zero, .nanoseconds(1), .nanoseconds(99_999_999), .nanoseconds(100_000_001), .milliseconds(1_500), .seconds(100_000_000),
      .seconds(8_999_999_999), .seconds(9_000_000_000), .seconds(9_000_000_001), .seconds(9_223_372_036),
      .seconds(100_000_000_000),
      .seconds(Int64(99_999_999) * 3_600), Duration(secondsComponent: 1, attosecondsComponent: 1),
    ])
  func neverShorter(_ duration: Duration) {
    let text = Timeout.encode(duration)
    let read = Array(text.utf8).withUnsafeBytes { Timeout.decode($0) }
    #expect(read.map { $0 >= duration } == true, "\(duration) is written as \(text)")
  }

  @Test(
    "As nanoseconds a timeout is what it is as a duration, and the most that they count beyond 292 years",
    arguments: [
      ("0n", 0), ("99999999n", 99_999_999), ("1u", 1_000), ("1500m", 1_500_000_000), ("20S", 20_000_000_000),
      ("3M", 180_000_000_000), ("2562047H", 9_223_369_200_000_000_000), ("2562048H", .max), ("99999999H", .max),
    ] as [(String, Int64)])
  func nanoseconds(_ text: String, _ expected: Int64) {
    let (nanoseconds, duration) = Array(text.utf8).withUnsafeBytes { (Timeout.decodeNanoseconds($0), Timeout.decode($0)) }
    #expect(nanoseconds == expected)
    if expected < .max { #expect(duration == .nanoseconds(expected)) }
  }

  @Test("What is no timeout is none as nanoseconds either", arguments: ["", "S", "1", "123456789S", "-1S", "1s", "1 S"])
  func malformed(_ text: String) {
    #expect(Array(text.utf8).withUnsafeBytes { Timeout.decodeNanoseconds($0) } == nil)
  }

  @Test("What no eight digits hold is written as the most that they do")
  func saturates() {
    #expect(Timeout.encode(.seconds(Int64.max)) == "99999999H")
    #expect(Timeout.encode(.seconds(-1)) == "0n")
  }

  @Test(
    "A timeout of Connect that its ten digits hold is written as it is",
    arguments: [0, 1, 1_500, 9_999_998_999, 9_999_999_000, 9_999_999_905, 9_999_999_999])
  func connect(_ milliseconds: Int64) {
    #expect(ConnectHeaders.encodeTimeout(.milliseconds(milliseconds)) == "\(milliseconds)")
    #expect(ConnectHeaders.decodeTimeout("\(milliseconds)") == .milliseconds(milliseconds))
  }

  @Test("What no ten digits hold is written as the most that they do")
  func connectSaturates() {
    #expect(ConnectHeaders.encodeTimeout(.seconds(10_000_000)) == "9999999999")
    #expect(ConnectHeaders.encodeTimeout(.milliseconds(9_999_999_999) + .nanoseconds(1)) == "9999999999")
  }
}
