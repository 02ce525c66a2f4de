import ConnectConformance
import HTTP2
import JudgeAPI
import MessagesCore
import Synchronization

/// One TLS context for all calls with the same certificates, as a program has one for all its channels. To read certificates and
/// keys for each call anew keeps a loop, and with it the first bytes of all its other calls, from their work.
final class SharedContexts: Sendable {
  private struct Key: Hashable {
    let authority: [UInt8]
    let certificate: [UInt8]
    let key: [UInt8]
  }

  private let contexts = Mutex<[Key: TLSContext]>([:])

  /// The context that a call needs; nil for one in clear text.
  func context(for request: Judged.ClientCompatRequest) throws -> TLSContext? {
    guard !request.serverTlsCert.isEmpty else { return nil }
    let own = request.clientTlsCreds
    let key = Key(
      authority: [UInt8](request.serverTlsCert), certificate: own.map { [UInt8]($0.cert) } ?? [],
      key: own.map { [UInt8]($0.key) } ?? [])
    return try contexts.withLock { contexts in
      if let known = contexts[key] { return known }
      let identity = own.map { _ in
        TLSConfiguration.Identity(certificateChain: .bytes(key.certificate), privateKey: .bytes(key.key))
      }
      let made = try TLSContext(.client(trustRoots: .certificates(.bytes(key.authority)), identity: identity))
      contexts[key] = made
      return made
    }
  }
}
