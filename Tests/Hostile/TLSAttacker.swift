import COpenSSL
import CShims
import EventLoop
import Glibc
import TestSupport

/// A peer that speaks TLS as it likes: OpenSSL itself, without the bounds of the product's engine, on a socket of its own.
///
/// Its calls block, for twenty seconds at most: use it on ``thread`` alone.
final class TLSAttacker {
  /// Where attackers run, since their calls block.
  static let thread = BlockingPool(maximumThreads: 1)

  /// What it offers and shows.
  struct Manner: Sendable {
    var version = TLS1_3_VERSION
    /// The application protocols in their form on the wire; empty for no ALPN at all.
    var protocols: [UInt8] = [2, 0x68, 0x32]
    var identity: TestAuthority.Leaf?
  }

  let ssl: OpaquePointer
  private let context: OpaquePointer
  private let input: OpaquePointer
  private let output: OpaquePointer
  private let socket: Int32
  /// Whether the other end has closed the connection.
  private(set) var isClosed = false
  /// The alert that the other end sent last; 0 for none.
  private(set) var alert: Int32 = 0

  init(_ address: SocketAddress, _ manner: Manner = Manner()) throws {
    context = SSL_CTX_new(TLS_client_method())
    guard parley_SSL_CTX_set_versions(context, manner.version, manner.version) == 1 else { throw TimedOut("no such version") }
    ssl = SSL_new(context)
    input = BIO_new(BIO_s_mem())
    output = BIO_new(BIO_s_mem())
    SSL_set_bio(ssl, input, output)
    SSL_set_connect_state(ssl)
    if !manner.protocols.isEmpty { SSL_set_alpn_protos(ssl, manner.protocols, UInt32(manner.protocols.count)) }
    socket = Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard address.withSockaddr({ connect(socket, $0, $1) }) == 0 else { throw TimedOut("no connection to \(address)") }
    if let identity = manner.identity { show(identity) }
  }

  deinit {
    SSL_free(ssl)
    SSL_CTX_free(context)
    close(socket)
    ERR_clear_error()
  }

  private func show(_ leaf: TestAuthority.Leaf) {
    let bio = BIO_new(BIO_s_mem())
    defer { BIO_free(bio) }
    BIO_write(bio, leaf.certificateChain, Int32(leaf.certificateChain.count))
    let certificate = PEM_read_bio_X509(bio, nil, nil, nil)
    SSL_use_certificate(ssl, certificate)
    X509_free(certificate)
    let other = BIO_new(BIO_s_mem())
    defer { BIO_free(other) }
    BIO_write(other, leaf.privateKey, Int32(leaf.privateKey.count))
    let key = PEM_read_bio_PrivateKey(other, nil, nil, nil)
    SSL_use_PrivateKey(ssl, key)
    EVP_PKEY_free(key)
  }

  /// Goes on with a handshake until it is done or cannot be; whether it is done.
  func handshake() -> Bool {
    while true {
      ERR_clear_error()
      let result = SSL_do_handshake(ssl)
      let reason = SSL_get_error(ssl, result)
      noteAlert()
      flush()
      if result == 1 { return true }
      guard reason == SSL_ERROR_WANT_READ, receive() else { return false }
    }
  }

  /// Encrypts and sends.
  func write(_ bytes: [UInt8]) {
    ERR_clear_error()
    SSL_write(ssl, bytes, Int32(bytes.count))
    flush()
  }

  /// Asks for new keys so many times, in as few writes as possible.
  func updateKeys(_ count: Int) {
    for _ in 0..<count {
      ERR_clear_error()
      SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
      SSL_do_handshake(ssl)
    }
    flush()
  }

  /// Reads until the other end closes the connection; whether it did.
  func readToEnd() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 16_384)
    while !isClosed {
      ERR_clear_error()
      while SSL_read(ssl, &bytes, Int32(bytes.count)) > 0 {}
      noteAlert()
      flush()
      guard receive() else { break }
    }
    return isClosed
  }

  /// Waits for one byte of data; whether it came.
  func readSome(_ byte: inout UInt8) -> Bool {
    while true {
      ERR_clear_error()
      if SSL_read(ssl, &byte, 1) == 1 { return true }
      noteAlert()
      flush()
      guard receive() else { return false }
    }
  }

  /// Sends what OpenSSL has to say. A peer that is gone is no error here.
  func flush() {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = BIO_read(output, &bytes, Int32(bytes.count))
      guard count > 0 else { return }
      var sent = 0
      while sent < Int(count) {
        let now = bytes.withUnsafeBytes { send(socket, $0.baseAddress! + sent, Int(count) - sent, Int32(MSG_NOSIGNAL)) }
        guard now > 0 else { return }
        sent += now
      }
    }
  }

  private func receive() -> Bool {
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &bytes, bytes.count, 0)
    // A reset is an end too: the other end closed while bytes of ours were still on their way.
    if count == 0 || (count < 0 && errno == ECONNRESET) { isClosed = true }
    guard count > 0 else { return false }
    return BIO_write(input, bytes, Int32(count)) == Int32(count)
  }

  private func noteAlert() {
    while true {
      let error = ERR_get_error()
      guard error != 0 else { return }
      let reason = Int32(truncatingIfNeeded: error & 0x7F_FFFF)
      if reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255 { alert = reason - SSL_AD_REASON_OFFSET }
    }
  }
}
