import AuthAPI
import DemoService
import EventLoop
import RPC
import ServiceKit
import TestParley
import TestSupport
import Testing

/// Every RPC of every service, found by its descriptor: a new one is judged without a word here.
@Suite("Every method of every service", .serialized)
struct EveryMethodTests {
  /// How a method answers an empty request that carries nothing but these fields.
  private static func answer(
    _ method: MethodInfo, _ address: SocketAddress, on loop: EventLoop, _ fields: [(String, String)] = []
  ) async throws -> Int? {
    try await loop.perform {
      let peer = try await HTTP2Peer.open(to: address, on: loop)
      defer { peer.close() }
      peer.send(
        .headers(
          1, HTTP2Peer.httpHeaders("POST", method.path, [("te", "trailers"), ("content-type", "application/grpc")] + fields)))
      peer.sendBody(1, HTTP2Peer.message([]))
      return try await peer.response(1).status.map { Int($0) }
    }
  }

  private static func judge(
    _ services: [ServiceDescriptor], _ instance: ServiceInstance, on loop: EventLoop
  ) async throws -> [MethodAccess: Int] {
    let address = try #require(instance.addresses.grpc)
    var judged: [MethodAccess: Int] = [:]
    for method in services.flatMap(\.methods) {
      judged[method.access, default: 0] += 1
      guard method.access != .public else { continue }
      let wrong = [[], [("authorization", "Bearer x.y.z")], [("authorization", "Basic YTpi")]] as [[(String, String)]]
      for fields in wrong {
        let status = try await Self.answer(method, address, on: loop, fields)
        #expect(
          status == StatusCode.unauthenticated.rawValue, "\(method.path) (\(method.access.name)) with \(fields)")
      }
    }
    return judged
  }

  @Test("B-48: every method that is not public refuses whoever does not bring the credential that its access asks for")
  func withoutCredential() async throws {
    try await TestParley.with { parley in
      let loop = parley.loops.loops[0]
      let auth = try await Self.judge(AuthService.services, parley.auth, on: loop)
      #expect(auth[.googleIDToken, default: 0] >= 2)
      try await parley.with(DemoService.self) { instance, _ in
        let demo = try await Self.judge(DemoService.services, instance, on: loop)
        #expect(demo[.session] == 1)
      }
    }
  }

  @Test("Every service that is declared is served: none of its methods is unknown")
  func served() async throws {
    try await TestParley.with { parley in
      let address = try #require(parley.auth.addresses.grpc)
      for method in AuthService.services.flatMap(\.methods) {
        let status = try await Self.answer(method, address, on: parley.loops.loops[0])
        #expect(status != nil && status != StatusCode.unimplemented.rawValue, "\(method.path)")
      }
    }
  }
}
