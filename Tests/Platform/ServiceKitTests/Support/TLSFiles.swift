import EventLoop
import Glibc
import HTTP2
import RPC
import RPCClient
import TestAPI
import TestSupport
import Testing

@testable import ServiceKit

/// Certificate, key and client roots as files of a test's own, with the settings that name them.
struct TLSFiles {
  let folder: TextFolder
  /// Where the files are: a folder in `folder`, or a link to one.
  let place: String

  init(_ leaf: TestAuthority.Leaf, clientRoots: [UInt8]? = nil, in place: String = "") throws {
    folder = try TextFolder()
    self.place = place
    if place.isEmpty { try write(leaf, clientRoots: clientRoots) }
  }

  func name(_ file: String) -> String { place.isEmpty ? file : "\(place)/\(file)" }

  func write(_ leaf: TestAuthority.Leaf, clientRoots: [UInt8]? = nil) throws {
    try folder.replace(name("tls.crt"), leaf.certificateChain)
    try folder.replace(name("tls.key"), leaf.privateKey)
    if let clientRoots { try folder.replace(name("ca.crt"), clientRoots) }
  }

  func settings(_ more: [String: String] = [:]) throws -> Settings {
    var flags = [
      "loops": "1", "listen": "127.0.0.1:0", "tls.listen": "127.0.0.1:0", "tls.certificate": folder.file(name("tls.crt")),
      "tls.key": folder.file(name("tls.key")), "tls.watchInterval": "50ms",
    ]
    if access(folder.file(name("ca.crt")), R_OK) == 0 { flags["tls.clientCa"] = folder.file(name("ca.crt")) }
    return try Settings(
      service: "demo", keys: PeerService.keys, flags: flags.merging(more) { $1 }, environment: [:])
  }
}

/// A caller over TLS on a loop of its own.
final class TLSCaller: Sendable {
  private let loops: EventLoopGroup
  private let channel: ClientChannel

  init(_ address: SocketAddress?, trusting authority: TestAuthority, as leaf: TestAuthority.Leaf? = nil) throws {
    var configuration = ClientChannelConfiguration()
    let identity = leaf.map {
      TLSConfiguration.Identity(certificateChain: .bytes($0.certificateChain), privateKey: .bytes($0.privateKey))
    }
    configuration.tls = try TLSContext(
      .client(trustRoots: .certificates(.bytes(authority.certificate)), identity: identity, serverName: "localhost"))
    loops = try EventLoopGroup(count: 1, name: "caller")
    channel = ClientChannel(
      to: .host("127.0.0.1", port: try #require(address?.port)), on: loops, configuration: configuration)
  }

  /// Calls a method of ``PeerService``; what it answered, or the code that it failed with.
  func call(_ method: MethodDescriptor<EchoRequest, EchoResponse> = PeerService.whoAmI) async throws -> Result<String, RPCError> {
    try await loops.loops[0].perform { [channel] in
      do throws(RPCError) { return .success(try await channel.unary(method, EchoRequest(text: ""), .init()).message.text) } catch
      {
        return .failure(error)
      }
    }
  }

  func close() async throws {
    try await loops.loops[0].perform { [channel] in await channel.close() }
    try await DemoProcess.pool.run { [loops] in loops.shutDown() }
  }

  /// Opens a connection for one call.
  static func once(
    _ instance: ServiceInstance, trusting authority: TestAuthority, as leaf: TestAuthority.Leaf? = nil,
    _ method: MethodDescriptor<EchoRequest, EchoResponse> = PeerService.whoAmI
  ) async throws -> Result<String, RPCError> {
    let caller = try TLSCaller(instance.addresses.tls, trusting: authority, as: leaf)
    let result = try await caller.call(method)
    try await caller.close()
    return result
  }
}

/// A service that says who calls, to anyone and to other services.
enum PeerService: Service {
  static let whoAmI = MethodDescriptor<EchoRequest, EchoResponse>(
    service: "parley.testing.v1.PeerService", name: "WhoAmI", kind: .unary, access: .public)
  static let restricted = MethodDescriptor<EchoRequest, EchoResponse>(
    service: "parley.testing.v1.PeerService", name: "Restricted", kind: .unary, access: .service)

  static let name = "demo"
  static let configuration: [any ConfigurationKeyDeclaration] = []
  static let services = [ServiceDescriptor(name: "parley.testing.v1.PeerService", methods: [whoAmI.info, restricted.info])]

  static func build(_ context: ServiceContext) async throws -> ServiceParts {
    ServiceParts(services: [
      ServiceRoutes(
        services[0],
        [
          .unary(whoAmI) { _, call in EchoResponse(text: call.peerIdentity?.name ?? "nobody") },
          .unary(restricted) { _, call in EchoResponse(text: "welcome, \(call.peerIdentity?.name ?? "nobody")") },
        ])
    ])
  }
}
