internal import CPostgreSQL
internal import EventLoop
internal import Glibc
internal import Logging

extension Connection {
  /// Starts to connect; the owner hears how it went, never before this call has returned.
  func open() {
    assert(state == .new, "a connection is opened once")
    state = .resolving
    connectTimer.onFire = { [unowned self] in fail(DatabaseError(.connectionLost, "connecting took too long")) }
    loop.arm(connectTimer, after: settings.configuration.connectTimeout)
    let configuration = settings.configuration
    let isKnown =
      configuration.isSocketPath || configuration.additionalParameters["hostaddr"] != nil
      || SocketAddress(ip: configuration.host, port: configuration.port) != nil
    if isKnown && configuration.passwordFile == nil {
      loop.execute { self.start(addresses: [], password: configuration.password) }
      return
    }
    // Name look-up and file reading block: neither may happen on the loop.
    loop.spawn { [self] in
      do {
        let found = try await blocking.run {
          (
            isKnown ? [] : try SocketAddress.resolve(host: configuration.host, port: configuration.port).map(\.host),
            try configuration.passwordFile.map(readPassword) ?? configuration.password
          )
        }
        start(addresses: found.0, password: found.1)
      } catch {
        fail(DatabaseError(.connectionLost, "\(error)"))
      }
    }
  }

  private func start(addresses: [String], password: String?) {
    guard state == .resolving else { return }
    state = .connecting
    let parameters = settings.parameters(addresses: addresses, password: password)
    pointer = Self.withCStrings(parameters.map(\.0)) { keys in
      Self.withCStrings(parameters.map(\.1)) { values in PQconnectStartParams(keys, values, 0) }
    }
    guard let pointer, PQstatus(pointer) != CONNECTION_BAD else { return fail(.connection(pointer, "connecting failed")) }
    receiveNotices(pointer)
    // libpq: behave as if the last poll had said that it wants to write.
    awaitSocket(pointer, .writable)
  }

  func pollConnecting() {
    guard let pointer else { return }
    switch PQconnectPoll(pointer) {
    case PGRES_POLLING_READING: awaitSocket(pointer, .readable)
    case PGRES_POLLING_WRITING: awaitSocket(pointer, .writable)
    case PGRES_POLLING_OK: becomeOpen(pointer)
    default: fail(.connection(pointer, "connecting failed"))
    }
  }

  /// Watches anew after each poll: libpq may have gone on to the next address with another socket, even of the same number.
  private func awaitSocket(_ pointer: OpaquePointer, _ readiness: Readiness) {
    watch?.cancel()
    do {
      watch = try loop.watch(PQsocket(pointer), for: readiness, self)
    } catch {
      watch = nil
      fail(DatabaseError(.connectionLost, error.message))
    }
  }

  private func becomeOpen(_ pointer: OpaquePointer) {
    loop.disarm(connectTimer)
    awaitSocket(pointer, .readable)
    guard state == .connecting else { return }
    guard PQsetnonblocking(pointer, 1) == 0, PQenterPipelineMode(pointer) == 1 else {
      return fail(.connection(pointer, "setting the connection up failed"))
    }
    state = .open
    owner.connectionDidOpen(self)
  }

  private func receiveNotices(_ pointer: OpaquePointer) {
    PQsetNoticeReceiver(
      pointer,
      { context, result in
        guard let context, let result else { return }
        // SAFETY: the connection outlives libpq's: it closes that before it goes.
        Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.note(result) }
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func note(_ result: OpaquePointer) {
    let notice = DatabaseError(from: result)
    log.debug("notice from the database", metadata: ["severity": "\(notice.severity ?? "-")", "message": "\(notice.message)"])
  }

  private static func withCStrings<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { body($0.baseAddress!) }
  }
}

/// The first line of a file. Blocks.
@Sendable private func readPassword(_ path: String) throws(DatabaseError) -> String {
  let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else {
    throw DatabaseError(.invalidConfiguration, "the password file \(path) cannot be read: \(String(cString: strerror(errno)))")
  }
  defer { Glibc.close(descriptor) }
  let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
    count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
  }
  return String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
}
