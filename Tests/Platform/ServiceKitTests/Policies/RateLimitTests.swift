import EventLoop
import HTTP2
import Limits
import PostgreSQL
import RPC
import RPCClient
import Telemetry
import TestAPI
import TestSupport
import Testing
import Values

@testable import ServiceKit

@Suite("Rate limits by option", .serialized)
struct RateLimitTests {
  @Test(
    "AUTH-M6: the limit by address stands before the guard, holds its burst and not one call more, and says when to come again")
  func address() async throws {
    try await PolicyFixture.with { fixture in
      for left in [2, 1, 0] {
        let answer = try await fixture.channel.unary(NotebookService.Methods.knock, .init(), CallOptions())
        #expect(answer.trailingMetadata["ratelimit-limit"] == "3" && answer.trailingMetadata["ratelimit-remaining"] == "\(left)")
        #expect(answer.trailingMetadata["ratelimit-reset"] == "\((3 - left) * 10)")
      }
      let refusal = await #expect(throws: RPCError.self) { try await fixture.notes.knock() }
      #expect(refusal?.code == .resourceExhausted && refusal?.reason == "RATE_LIMITED_IP" && refusal?.retryAfter == .seconds(10))
      #expect(refusal?.metadata["retry-after"] == "10" && refusal?.metadata["ratelimit-remaining"] == "0")
      #expect(refusal?.metadata["ratelimit-reset"] == "30" && refusal?.metadata["ratelimit-limit"] == "3")
      fixture.advance(by: .seconds(10))
      #expect(await outcome { try await fixture.notes.knock() } == "OK")
      #expect(await outcome { try await fixture.notes.knock() } == "RESOURCE_EXHAUSTED RATE_LIMITED_IP")
      let counted = fixture.registry.counter("parley_rate_limited_total", labels: [("limit", "knocks")])
      #expect(counted.total == 2)
    }
  }

  @Test("AUTH-M6: over Connect a refusal is 429 with retry-after and RateLimit headers, and a success has them too")
  func http() async throws {
    try await PolicyFixture.with { fixture in
      let answers = try await fixture.loop.perform {
        let peer = try await HTTP2Peer.open(to: fixture.address, on: fixture.loop)
        defer { peer.close() }
        var answers: [HTTP2Peer.Exchange] = []
        for stream in [1, 3, 5, 7] as [UInt32] {
          let fields = [("content-type", "application/json"), ("connect-protocol-version", "1")]
          peer.send(.headers(stream, HTTP2Peer.httpHeaders("POST", NotebookService.Methods.knock.info.path, fields)))
          peer.sendBody(stream, Array("{}".utf8))
          answers.append(try await peer.response(stream))
        }
        return answers
      }
      #expect(answers.map { $0.value(":status") } == ["200", "200", "200", "429"])
      #expect(answers.map { $0.value("ratelimit-remaining") } == ["2", "1", "0", "0"])
      #expect(answers.map { $0.value("ratelimit-limit") } == ["3", "3", "3", "3"])
      #expect(answers.map { $0.value("ratelimit-reset") } == ["10", "20", "30", "30"])
      #expect(answers.map { $0.value("retry-after") } == [nil, nil, nil, "10"])
    }
  }

  @Test("AUTH-M6: a limit per user is each user's own, stands behind the guard, and the tightest limit is told")
  func user() async throws {
    try await PolicyFixture.with(rates: [.init(name: "writing", perMinute: 60, burst: 2)]) { fixture in
      for number in 1...2 {
        let answer = try await fixture.channel.unary(
          NotebookService.Methods.createNote, .init(idempotencyKey: "\(number)", text: "x"), PolicyFixture.options())
        #expect(answer.trailingMetadata.values(of: "ratelimit-limit") == ["2"])
        #expect(answer.trailingMetadata.values(of: "ratelimit-remaining") == ["\(2 - number)"])
      }
      let third = await outcome {
        try await fixture.notes.createNote(.init(idempotencyKey: "3", text: "x"), options: PolicyFixture.options())
      }
      #expect(third == "RESOURCE_EXHAUSTED RATE_LIMITED_USER")
      let bens = await outcome {
        try await fixture.notes.createNote(
          .init(idempotencyKey: "3", text: "x"), options: PolicyFixture.options(PolicyFixture.ben))
      }
      #expect(bens == "OK")
      #expect(await outcome { try await fixture.notes.createNote() } == "UNAUTHENTICATED MISSING_AUTHORIZATION")
      let keys: [String] = try await fixture.database.rows("select key from door.rate_limit order by 1")
      #expect(
        keys == ["notebook-address:127.0.0.1", "writing:\(PolicyFixture.ana)", "writing:\(PolicyFixture.ben)"])
    }
  }

  /// Nobody can say.
  private struct Away: RateLimiter {
    func take(_ key: String, _ rate: BucketRate, at now: Instant) async throws -> BucketAnswer {
      throw DatabaseError(.connectionLost, "away")
    }
  }

  @Test("AUTH-M6: while calls cannot be counted a limit that fails closed lets nobody in, and one that fails open everybody")
  func unavailable() async throws {
    try await PolicyFixture.with(limiter: Away()) { fixture in
      let refusal = await #expect(throws: RPCError.self) { try await fixture.notes.knock() }
      #expect(refusal?.code == .unavailable && refusal?.reason == "LIMITER_UNAVAILABLE" && refusal?.retryAfter == .seconds(1))
      #expect(await outcome { try await fixture.notes.listNotes(options: PolicyFixture.options()) } == "OK")
      let counted = fixture.registry.counter("parley_rate_limit_unavailable_total", labels: [("limit", "reading")])
      #expect(counted.total == 1)
    }
  }

  @Test(
    "A limit is set by its name, a minute and at once",
    arguments: [("account=120/60", 120, 60), ("a=1/1", 1, 1), ("a=1/1440", 1, 1440), ("a=1000000/1000000", 1_000_000, 1_000_000)])
  func setting(text: String, perMinute: Int, burst: Int) throws {
    let setting = try #require(RateLimitSetting(configurationText: text))
    #expect(setting.perMinute == perMinute && setting.burst == burst && setting.configurationText == text)
  }

  @Test(
    "What is no limit is refused",
    arguments: ["", "a", "a=", "a=1", "=1/1", "a=0/1", "a=1/0", "a=1/1441", "a=1000001/1", "a=1/2/3", "a=b=1/1", "a=x/1"])
  func noSetting(text: String) { #expect(RateLimitSetting(configurationText: text) == nil) }

  @Test("A setting that names no limit is an error that tells the names there are")
  func unknownName() {
    let findings = MethodPolicies.findings(
      [NotebookService.descriptor],
      [.init(name: "reading", perMinute: 1, burst: 1), .init(name: "raeding", perMinute: 1, burst: 1)])
    #expect(findings.count == 1 && findings[0].severity == .error)
    #expect(findings[0].message == "there is no limit 'raeding'; there are knocks, notebook-address, reading, writing")
  }

  @Test("A limit of a path that is no method's is set by its name as well")
  func pathLimit() {
    let limits = [MethodLimit("photographs", per: .address, perMinute: 6, burst: 6)]
    let known = RateLimitSetting(name: "photographs", perMinute: 1, burst: 1)
    #expect(MethodPolicies.findings([NotebookService.descriptor], and: limits, [known]).isEmpty)
    #expect(MethodPolicies.findings([NotebookService.descriptor], [known]).count == 1)
    let rates = MethodPolicies.rates(limits, [known])
    #expect(rates["photographs"]?.burst == 1 && MethodPolicies.rates(limits, [])["photographs"]?.burst == 6)
  }
}
