import COpenSSL
import CShims
import HTTP2
import TestSupport

/// A client that is OpenSSL itself, for what the engine never does: old versions, renegotiation, KeyUpdate.
final class RawTLSClient {
  let ssl: OpaquePointer
  private let context: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer

  init(version: Int32) {
    context = SSL_CTX_new(TLS_client_method())
    // Security level 0 allows what TLS 1.1 signs with.
    SSL_CTX_set_cipher_list(context, "ALL@SECLEVEL=0")
    precondition(parley_SSL_CTX_set_versions(context, version, version) == 1)
    ssl = SSL_new(context)
    input = BIO_new(BIO_s_mem())
    output = BIO_new(BIO_s_mem())
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    let protocols: [UInt8] = [2, 0x68, 0x32]
    SSL_set_alpn_protos(ssl, protocols, 3)
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
    ERR_clear_error()
  }

  /// What OpenSSL wants to send.
  func taken() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1 << 20)
    let count = BIO_read(output, &bytes, Int32(bytes.count))
    return count > 0 ? Array(bytes[..<Int(count)]) : []
  }

  func given(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    precondition(BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count))
  }

  /// Goes on with the handshake; whether it is done.
  func handshake() -> Bool {
    ERR_clear_error()
    return SSL_do_handshake(ssl) == 1
  }

  /// Reads and forgets plaintext, so that messages after the handshake are seen. Answers OpenSSL's `SSL_get_error`.
  @discardableResult
  func read() -> Int32 {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    ERR_clear_error()
    while true {
      let count = SSL_read(ssl, &bytes, Int32(bytes.count))
      if count <= 0 { return SSL_get_error(ssl, count) }
    }
  }

  func write(_ bytes: [UInt8]) { precondition(SSL_write(ssl, bytes, Int32(bytes.count)) == Int32(bytes.count)) }

  /// Sends a KeyUpdate that asks for one back.
  func updateKeys() {
    precondition(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED) == 1)
    precondition(handshake())
  }
}

/// A server engine fed by a test through arrays.
final class ServerSide {
  let engine: TLSEngine
  var plaintext: [UInt8] = []
  private let output = TLSOutput()
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  init(_ context: TLSContext) throws { engine = try TLSEngine(context) }

  deinit { room.deallocate() }

  /// Feeds `bytes`; answers what the engine wants to send.
  @discardableResult
  func feed(_ bytes: [UInt8]) -> [UInt8] {
    bytes.withUnsafeBytes { all in
      var input = all
      while true {
        switch engine.receive(&input, into: room, output: output) {
        case .plaintext(let count): plaintext += UnsafeRawBufferPointer(rebasing: room[..<count])
        case .established: continue
        case .needsInput, .closed, .failed: return
        }
      }
    }
    defer { output.removeAll() }
    return Array(output.bytes)
  }

  /// Shakes hands with `client`; whether both are done.
  func connect(_ client: RawTLSClient) -> Bool {
    for _ in 0..<10 {
      let isDone = client.handshake()
      client.given(feed(client.taken()))
      if isDone && engine.state == .established {
        client.read()
        return true
      }
      if engine.state == .failed { break }
    }
    return false
  }
}
