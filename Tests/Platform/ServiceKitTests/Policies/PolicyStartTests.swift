import EventLoop
import Limits
import Logging
import PostgreSQL
import RPC
import Telemetry
import TestAPI
import Testing
import Values

@testable import ServiceKit

@Suite("What a service must provide for its options")
struct PolicyStartTests {
  private static func problem(_ parts: ServiceParts, _ services: [ServiceDescriptor]) -> String? {
    do {
      _ = try MethodPolicies(
        for: services, parts, [],
        .init(
          proxies: TrustedProxies([]), clock: .system, longestCall: .seconds(60), loops: [], registry: PrometheusRegistry(),
          log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
      return nil
    } catch {
      return "\(error)"
    }
  }

  private struct Nobody: RateLimiter {
    func take(_ key: String, _ rate: BucketRate, at now: Instant) async throws -> BucketAnswer { throw CancellationError() }
  }

  @Test("A service without what its options stand on does not start, and says which method asks for what")
  func unprovided() {
    #expect(Self.problem(.init(), [EchoService.descriptor]) == nil)
    #expect(
      Self.problem(.init(), [NotebookService.descriptor])
        == "/parley.testing.v1.NotebookService/CreateNote has a rate limit, and the service provides no limiter")
    var parts = ServiceParts()
    parts.limiter = Nobody()
    #expect(
      Self.problem(parts, [NotebookService.descriptor])
        == "/parley.testing.v1.NotebookService/CreateNote keeps answers by key, and the service provides nowhere to keep them")
  }

  @Test("Two services of a process that share a limit and differ about it do not start")
  func different() {
    func service(_ name: String, burst: Int) -> ServiceDescriptor {
      let method = MethodDescriptor<KnockRequest, KnockResponse>(
        service: name, name: "Knock", kind: .unary, access: .public,
        limits: [MethodLimit("doors", per: .address, perMinute: 6, burst: burst)])
      return ServiceDescriptor(name: name, methods: [method.info])
    }
    var parts = ServiceParts()
    parts.limiter = Nobody()
    #expect(Self.problem(parts, [service("a", burst: 3), service("b", burst: 3)]) == nil)
    #expect(
      Self.problem(parts, [service("a", burst: 3), service("b", burst: 4)])
        == "/a/Knock and /b/Knock differ about the rate limit 'doors'")
  }

  @Test("A method without options passes its guard and nothing else")
  func nothingAdded() throws {
    var parts = ServiceParts()
    parts.limiter = Nobody()
    let policies = try MethodPolicies(
      for: [EchoService.descriptor], parts, [],
      .init(
        proxies: TrustedProxies([]), clock: .system, longestCall: .seconds(60), loops: [], registry: PrometheusRegistry(),
        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    let access = try AccessPolicy(for: [EchoService.descriptor], guards: [.session: .handlers])
    for method in EchoService.descriptor.methods {
      let interceptors = policies.interceptors(of: method, behind: access)
      #expect(interceptors.count == 1 && interceptors[0] is AccessPolicy && method.policy == nil)
    }
  }
}
