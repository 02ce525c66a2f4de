import HTTP2
import TestSupport

/// A client and a server engine that talk through arrays, with no socket between them.
final class TLSPair {
  let client: TLSEngine
  let server: TLSEngine
  /// Bytes on their way.
  var toServer: [UInt8] = []
  var toClient: [UInt8] = []
  /// Plaintext that arrived.
  var atServer: [UInt8] = []
  var atClient: [UInt8] = []
  /// At most so many bytes are fed at once.
  var chunk = Int.max
  private let output = TLSOutput()
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init(_ client: TLSEngine, _ server: TLSEngine) {
    self.client = client
    self.server = server
    client.start(output: output)
    toServer += taken()
  }

  convenience init(_ client: TLSContext, _ server: TLSContext, serverName: String? = nil) throws {
    self.init(try TLSEngine(client, serverName: serverName), try TLSEngine(server))
  }

  deinit { room.deallocate() }

  private func taken() -> [UInt8] {
    defer { output.removeAll() }
    return Array(output.bytes)
  }

  /// Feeds `bytes` in chunks; answers how often the handshake was told to be done.
  @discardableResult
  func feed(_ bytes: [UInt8], to engine: TLSEngine, plaintext: inout [UInt8], answer: inout [UInt8]) -> Int {
    var established = 0
    bytes.withUnsafeBytes { all in
      var offset = 0
      while offset < all.count {
        let end = offset + min(chunk, all.count - offset)
        var input = UnsafeRawBufferPointer(rebasing: all[offset..<end])
        feeding: while true {
          switch engine.receive(&input, into: room, output: output) {
          case .plaintext(let count): plaintext += UnsafeRawBufferPointer(rebasing: room[..<count])
          case .established: established += 1
          case .needsInput:
            precondition(input.isEmpty, "input was left over")
            break feeding
          case .closed, .failed: break feeding
          }
        }
        offset = end
      }
    }
    answer += taken()
    return established
  }

  func deliverToServer() {
    let bytes = toServer
    toServer = []
    feed(bytes, to: server, plaintext: &atServer, answer: &toClient)
  }

  func deliverToClient() {
    let bytes = toClient
    toClient = []
    feed(bytes, to: client, plaintext: &atClient, answer: &toServer)
  }

  /// Delivers until nothing is on its way.
  func run() {
    while !toServer.isEmpty || !toClient.isEmpty {
      deliverToServer()
      deliverToClient()
    }
  }

  func clientWrites(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { client.write($0, output: output) }
    toServer += taken()
  }

  func serverWrites(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { server.write($0, output: output) }
    toClient += taken()
  }

  func clientCloses() {
    client.sendCloseNotify(output: output)
    toServer += taken()
  }

  func serverCloses() {
    server.sendCloseNotify(output: output)
    toClient += taken()
  }
}

/// One authority, and contexts that trust it.
struct TLSParties {
  let authority = TestAuthority()

  func identity(_ leaf: TestAuthority.Leaf) -> TLSConfiguration.Identity {
    TLSConfiguration.Identity(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(leaf.privateKey))
  }

  var roots: TLSConfiguration.TrustRoots { .certificates(.bytes(authority.certificate)) }

  func server(
    _ leaf: TestAuthority.Leaf? = nil, clients: TLSConfiguration.ClientCertificates = .none,
    change: (inout TLSConfiguration) -> Void = { _ in }
  ) throws -> TLSContext {
    var configuration = TLSConfiguration.server(identity: identity(leaf ?? authority.server()), clients: clients)
    change(&configuration)
    return try TLSContext(configuration)
  }

  func client(
    _ leaf: TestAuthority.Leaf? = nil, name: String? = "localhost", change: (inout TLSConfiguration) -> Void = { _ in }
  ) throws -> TLSContext {
    var configuration = TLSConfiguration.client(trustRoots: roots, identity: leaf.map(identity), serverName: name)
    change(&configuration)
    return try TLSContext(configuration)
  }

  /// A connection after its handshake.
  func connected(_ version: TLSConfiguration.Version = .tls13) throws -> TLSPair {
    let pair = try TLSPair(client { $0.maximumVersion = version }, server())
    pair.run()
    return pair
  }
}
