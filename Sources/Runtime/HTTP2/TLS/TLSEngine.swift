internal import COpenSSL
internal import CShims

/// One TLS connection without its socket: bytes in, bytes out.
///
/// The owner feeds what the socket gave to ``receive(_:into:output:)``, gets plaintext in a buffer of its own, and writes what
/// collects in a ``TLSOutput`` to the socket. Input and output are borrowed for the length of one call, so an idle connection
/// holds OpenSSL's state and no buffer. Nothing here waits or knows the time: deadlines are the owner's.
///
/// Confined to one loop; the type is deliberately not `Sendable`.
package final class TLSEngine {
  /// Where the connection stands.
  package enum State: Sendable {
    /// The handshake goes on.
    case handshaking
    /// Data flows both ways.
    case established
    /// The peer said with close_notify that it sends no more; nothing is missing.
    case closed
    /// The connection is over; ``TLSEngine/failure`` says why. Alerts for the peer, if any, are in the output.
    case failed
  }

  /// What one call of ``receive(_:into:output:)`` came to.
  package enum Event: Sendable, Equatable {
    /// All input is used up; nothing to do before there is more.
    case needsInput
    /// The handshake is done (told once): ``TLSEngine/applicationProtocol`` and ``TLSEngine/peerCertificate`` are known.
    case established
    /// So many bytes of plaintext are at the start of the plaintext buffer.
    case plaintext(Int)
    /// The peer closed cleanly.
    case closed
    /// The connection is over; see ``TLSEngine/failure``. Write the output, which may hold an alert, then close the socket.
    case failed
  }

  /// Where the connection stands.
  package private(set) var state = State.handshaking
  /// Why the connection failed.
  package private(set) var failure: TLSError?
  /// Whether close_notify was sent: no more may be written.
  package private(set) var hasSentCloseNotify = false

  let ssl: OpaquePointer
  private let io: UnsafeMutablePointer<parley_tls_io>
  private let context: TLSContext
  private var plaintextSinceRefill = 0

  // SAFETY: made once, never changed, and OpenSSL only reads it.
  private nonisolated(unsafe) static let method = parley_tls_bio_method_new()

  /// A connection at its very beginning.
  ///
  /// - Parameters:
  ///   - context: What to be and whom to trust.
  ///   - serverName: A client's peer: a DNS name (sent as SNI) or an IP address, verified against the server's certificate.
  ///     Without it the configuration's name is used. Servers ignore it.
  /// - Throws: ``TLSError`` with ``TLSError/Code/badConfiguration`` when a client has no valid name to verify.
  package init(_ context: TLSContext, serverName: String? = nil) throws(TLSError) {
    ERR_clear_error()
    guard let ssl = SSL_new(context.pointer) else { throw OpenSSLErrors.take(.internal, "no TLS connection") }
    self.ssl = ssl
    self.context = context
    io = .allocate(capacity: 1)
    io.initialize(to: parley_tls_io())
    io.pointee.post_handshake_budget = TLSLimits.postHandshakeMessages
    guard parley_tls_attach(ssl, Self.method, io) == 1 else { throw OpenSSLErrors.take(.internal, "no TLS connection") }
    if context.isServer {
      SSL_set_accept_state(ssl)
    } else {
      SSL_set_connect_state(ssl)
      try ServerName(serverName ?? context.serverName).expect(on: ssl)
    }
  }

  deinit {
    // The queue of this thread may hold leftovers that SSL_free must not be blamed for.
    SSL_free(ssl)
    io.deallocate()
  }

  /// Begins the handshake of a client: the ClientHello goes to `output`. A server has nothing to do.
  package func start(output: TLSOutput) {
    guard !context.isServer, state == .handshaking else { return }
    io.pointee.output = output.raw
    defer { io.pointee.output = nil }
    _ = handshake()
  }

  /// Takes bytes from the peer and gives the plaintext that they hold.
  ///
  /// Call it again, with what is left of `ciphertext`, until it answers ``Event/needsInput``, ``Event/closed`` or
  /// ``Event/failed``. After `needsInput` all of `ciphertext` is used up. One call fills as much of `plaintext` as it can.
  ///
  /// - Parameters:
  ///   - ciphertext: Bytes from the socket; becomes what is left of them.
  ///   - plaintext: Where to put plaintext; not empty, and best some times ``TLSLimits/recordPlaintext`` bytes.
  ///   - output: Gets what must be sent: handshake messages, alerts, answers to KeyUpdate.
  package func receive(
    _ ciphertext: inout UnsafeRawBufferPointer, into plaintext: UnsafeMutableRawBufferPointer, output: TLSOutput
  ) -> Event {
    switch state {
    case .closed: return .closed
    case .failed: return .failed
    case .handshaking, .established: break
    }
    io.pointee.input = ciphertext.baseAddress?.assumingMemoryBound(to: UInt8.self)
    io.pointee.input_count = ciphertext.count
    io.pointee.output = output.raw
    defer {
      ciphertext = UnsafeRawBufferPointer(start: UnsafeRawPointer(io.pointee.input), count: io.pointee.input_count)
      io.pointee.input = nil
      io.pointee.input_count = 0
      io.pointee.output = nil
    }
    if state == .handshaking { return handshake() }
    return decrypt(into: plaintext)
  }

  /// Encrypts all of `plaintext` into `output`, in records of at most 16 KiB.
  ///
  /// - Returns: Whether it was done; false before the handshake's end, after close_notify was sent, and when the connection
  ///   failed (see ``failure``).
  @discardableResult
  package func write(_ plaintext: UnsafeRawBufferPointer, output: TLSOutput) -> Bool {
    guard state == .established || state == .closed, !hasSentCloseNotify else { return false }
    guard !plaintext.isEmpty else { return true }
    // One growth instead of several: at most 22 bytes of header, content type and tag per record in TLS 1.3, 29 in TLS 1.2.
    let records = (plaintext.count + TLSLimits.recordPlaintext - 1) / TLSLimits.recordPlaintext
    guard parley_tls_output_reserve(output.raw, plaintext.count + records * 32) == 1 else {
      fail(TLSError(.internal, "no memory for ciphertext"))
      return false
    }
    io.pointee.output = output.raw
    defer { io.pointee.output = nil }
    ERR_clear_error()
    var written = 0
    // The output always takes everything and partial writes are off, so this is all or nothing.
    guard SSL_write_ex(ssl, plaintext.baseAddress, plaintext.count, &written) == 1, written == plaintext.count else {
      fail(OpenSSLErrors.take(.internal, "writing failed"))
      return false
    }
    return true
  }

  /// Says with close_notify that no more is sent. Nothing happens before the handshake's end, after a failure, or twice.
  package func sendCloseNotify(output: TLSOutput) {
    guard state == .established || state == .closed, !hasSentCloseNotify else { return }
    hasSentCloseNotify = true
    io.pointee.output = output.raw
    defer { io.pointee.output = nil }
    ERR_clear_error()
    if SSL_shutdown(ssl) < 0 { ERR_clear_error() }
  }

  /// Tells that the socket ended. Without the peer's close_notify before it, the connection failed as truncated.
  package func transportEnded() {
    guard state == .established || state == .handshaking else { return }
    let moment = state == .handshaking ? "during the handshake" : "without close_notify"
    fail(TLSError(.truncated, "the connection ended \(moment)"))
  }

  /// Whether a record has come in part; asked when ``receive(_:into:output:)`` needs input.
  package var isAmidRecord: Bool { state == .established && SSL_has_pending(ssl) == 1 }

  // MARK: What the handshake found

  /// The agreed application protocol (ALPN), or nil when there is none.
  package var applicationProtocol: String? {
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    guard let name, count > 0 else { return nil }
    return String(decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
  }

  /// The peer's verified certificate, read anew at each call; nil when it sent none.
  package var peerCertificate: TLSPeerCertificate? {
    SSL_get0_peer_certificate(ssl).map { TLSPeerCertificate($0) }
  }

  /// The version and cipher suite for a log line, such as `TLSv1.3 TLS_AES_128_GCM_SHA256`.
  package var parameters: String {
    let suite = SSL_get_current_cipher(ssl).map { String(cString: SSL_CIPHER_get_name($0)) } ?? "no cipher"
    return String(cString: SSL_get_version(ssl)) + " " + suite
  }

  /// Whether the handshake continued an earlier session by a ticket.
  package var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  // MARK: Steps

  private func handshake() -> Event {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    guard result == 1 else { return stopped(result) }
    if context.requiresApplicationProtocol && applicationProtocol == nil {
      fail(TLSError(.noApplicationProtocol, "the peer agreed to no application protocol"))
      return .failed
    }
    state = .established
    io.pointee.is_established = 1
    releaseBuffers()
    return .established
  }

  private func decrypt(into plaintext: UnsafeMutableRawBufferPointer) -> Event {
    precondition(!plaintext.isEmpty, "no room for plaintext")
    var total = 0
    // A record's plaintext that did not fit waits inside OpenSSL. Otherwise no input means nothing to read.
    while io.pointee.input_count > 0 || SSL_pending(ssl) > 0 {
      let room = plaintext.count - total
      if room == 0 || (total > 0 && room < TLSLimits.recordPlaintext) { break }
      ERR_clear_error()
      var count = 0
      let result = SSL_read_ex(ssl, plaintext.baseAddress! + total, room, &count)
      if result == 1 {
        total += count
        continue
      }
      // Plaintext from before the end is the owner's; the end itself is told by the next call.
      let event = stopped(result)
      if total == 0 { return event }
      break
    }
    guard total > 0 else { return .needsInput }
    plaintextSinceRefill += total
    if plaintextSinceRefill >= TLSLimits.plaintextPerRefill {
      plaintextSinceRefill = 0
      io.pointee.post_handshake_budget = TLSLimits.postHandshakeMessages
    }
    return .plaintext(total)
  }

  /// Finds out why OpenSSL did not go on.
  private func stopped(_ result: Int32) -> Event {
    switch (io.pointee.violation, SSL_get_error(ssl, result)) {
    case (UInt16(parley_tls_violation_post_handshake_flood.rawValue), _):
      fail(TLSError(.postHandshakeFlood, "more than \(TLSLimits.postHandshakeMessages) messages after the handshake"))
    case (UInt16(parley_tls_violation_renegotiation.rawValue), _):
      fail(TLSError(.renegotiation, "the peer asked to renegotiate"))
    case (_, SSL_ERROR_WANT_READ):
      releaseBuffers()
      return .needsInput
    case (_, SSL_ERROR_ZERO_RETURN):
      state = .closed
      return .closed
    default:
      let verification = SSL_get_verify_result(ssl)
      let error = OpenSSLErrors.take(.protocolViolation, "")
      fail(error.code == .certificateUntrusted ? OpenSSLErrors.verification(verification) : error)
    }
    return .failed
  }

  /// Gives back the record buffers that a handshake message leaves behind; `SSL_MODE_RELEASE_BUFFERS` does so after data only.
  private func releaseBuffers() {
    // The check is OpenSSL's own too, since the fix of CVE-2024-4741.
    if SSL_has_pending(ssl) == 0 { SSL_free_buffers(ssl) }
  }

  private func fail(_ error: TLSError) {
    ERR_clear_error()
    state = .failed
    failure = error
  }
}
