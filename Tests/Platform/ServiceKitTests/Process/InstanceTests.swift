import DemoService
import EventLoop
import Glibc
import Logging
import RPC
import RPCClient
import RPCServer
import TestAPI
import TestSupport
import Testing
import WellKnown

@testable import ServiceKit

@Suite("A service in the test's own process")
struct InstanceTests {
  static func start(_ environment: [String: String] = [:], process: [String: String] = [:]) async throws -> ServiceInstance {
    let settings = try Settings(
      service: "demo", keys: DemoService.keys, flags: ["loops": "1", "listen": "127.0.0.1:0"], environment: environment)
    return try await ServiceInstance.start(
      DemoService.self, settings: settings, environment: process, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  static func with(_ instance: ServiceInstance, _ body: @escaping @Sendable (ClientChannel) async throws -> Void) async throws {
    let loops = try EventLoopGroup(count: 1, name: "client")
    let address = try #require(instance.addresses.grpc)
    let channel = ClientChannel(to: .host(address.host, port: try #require(address.port)), on: loops)
    async let running: Void = instance.run()
    let result = await Task(executorPreference: loops.loops[0]) {
      let result = await Result { try await body(channel) }
      await channel.close()
      return result
    }.value
    instance.stop()
    try await running
    try await DemoProcess.pool.run { loops.shutDown() }
    try result.get()
  }

  @Test("It serves its RPCs, guards them, and hides what it does not expect")
  func serves() async throws {
    let instance = try await Self.start()
    try await Self.with(instance) { channel in
      let client = EchoService.Client(channel)
      let echoed = try await client.echo(.init(text: "hi"))
      #expect(echoed.text == "hi")
      let refused = await #expect(throws: RPCError.self) { try await client.guarded(.init()) }
      #expect(refused?.code == .unauthenticated)
      let failed = await #expect(throws: RPCError.self) { try await client.fail(.init()) }
      #expect(failed?.code == .internal && failed?.message.contains("innards") == false && failed?.reason == "INTERNAL")
      #expect(failed?.metadata["x-request-id"]?.isEmpty == false)
    }
  }

  @Test("An instance that has stopped is given back: nothing keeps its loop, nor what lives on it")
  func isGivenBack() async throws {
    weak var loop: EventLoop?
    do {
      let instance = try await Self.start()
      loop = instance.loops.loops[0]
      try await Self.with(instance) { channel in _ = try await EchoService.Client(channel).echo(.init(text: "hi")) }
    }
    // A thread that has just ended may still be about to let go.
    let deadline = MonotonicInstant.now().advanced(by: .seconds(20).withPatience)
    while loop != nil && MonotonicInstant.now() < deadline { await Task.yield() }
    #expect(loop == nil)
  }

  @Test("Health follows the conditions: Check, List, and NOT_FOUND for a service that is not there")
  func health() async throws {
    let instance = try await Self.start()
    try await Self.with(instance) { channel in
      let health = GRPCHealthV1.Health.Client(channel)
      let status = { (service: String) async throws in try await health.check(.init(service: service)).status }
      #expect(try await status("") == .serving)
      #expect(try await status("parley.testing.v1.EchoService") == .serving)
      let unknown = await #expect(throws: RPCError.self) { try await health.check(.init(service: "x")) }
      #expect(unknown?.code == .notFound)
      instance.health.set("keys", holds: false)
      #expect(try await status("") == .notServing)
      let all = try await health.list(.init()).statuses
      #expect(all.keys.sorted() == ["", "parley.internal.v1.AccountDataService", "parley.testing.v1.EchoService"])
      #expect(all.values.allSatisfy { $0.status == .notServing })
      instance.health.set("keys", holds: true)
      #expect(try await status("") == .serving)
    }
    #expect(!instance.health.isServing)
  }

  @Test("Reflection tells what is served, health and itself included, unless it is switched off", arguments: [true, false])
  func reflection(_ isOn: Bool) async throws {
    let instance = try await Self.start(["PARLEY_DEMO_REFLECTION": "\(isOn)"])
    try await Self.with(instance) { channel in
      let calls = MethodDescriptor<GRPCReflectionV1.ServerReflectionRequest, GRPCReflectionV1.ServerReflectionResponse>(
        service: "grpc.reflection.v1.ServerReflection", name: "ServerReflectionInfo", kind: .unary, access: .public)
      let answer = await Result { try await channel.unary(calls, .init(messageRequest: .listServices("")), .init()).message }
      switch answer {
      case .success(let response):
        guard case .listServicesResponse(let list) = response.messageResponse else {
          throw RPCError(.internal, "no list of services")
        }
        #expect(
          isOn
            && list.service.map(\.name) == [
              "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
              "parley.internal.v1.AccountDataService", "parley.testing.v1.EchoService",
            ])
      case .failure(let error): #expect(!isOn && (error as? RPCError)?.code == .unimplemented)
      }
    }
  }

  @Test("A socket that a supervisor has opened is taken over")
  func inheritedSocket() async throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let address = try SocketAddress("127.0.0.1:0")
    try #require(address.withSockaddr { bind(descriptor, $0, $1) } == 0 && listen(descriptor, 16) == 0)
    let settings = try Settings(
      service: "demo", keys: DemoService.keys, flags: ["loops": "1", "listen": "127.0.0.1:1"], environment: [:])
    let activation = SocketActivation(
      environment: ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "1"], first: descriptor)
    let instance = try await ServiceInstance.start(
      DemoService.self, settings: settings, activation: activation, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    #expect(instance.addresses.grpc?.port != 1)
    try await Self.with(instance) { channel in
      let echoed = try await EchoService.Client(channel).echo(.init(text: "inherited"))
      #expect(echoed.text == "inherited")
    }
  }

  @Test("What fails while it starts leaves nothing behind and can be tried again")
  func failsCleanly() async throws {
    let failure = await #expect(throws: ServiceFailure.self) { try await Self.start(["PARLEY_DEMO_GUARDED": "false"]) }
    #expect(failure?.status == .internal)
    let instance = try await Self.start()
    try await Self.with(instance) { channel in
      let echoed = try await EchoService.Client(channel).echo(.init(text: "again"))
      #expect(echoed.text == "again")
    }
  }

  @Test("A service that is told to stop before it runs drains at once, and one whose task is cancelled drains too")
  func stopsEarly() async throws {
    let early = try await Self.start()
    early.stop()
    early.stop()
    try await early.run()
    #expect(!early.health.isServing)
    let cancelled = try await Self.start()
    let running = Task { try await cancelled.run() }
    running.cancel()
    try await running.value
    #expect(!cancelled.health.isServing)
  }

  @Test("A background job that fails makes the server drain and ends the service with its error")
  func failingJob() async throws {
    let instance = try await Self.start(["PARLEY_DEMO_FAILING_JOB": "true"])
    let failure = await #expect(throws: ServiceFailure.self) { try await instance.run() }
    #expect(failure?.status == .internal && failure?.message.hasPrefix("a background job failed") == true)
    #expect(!instance.health.isServing)
  }
}
