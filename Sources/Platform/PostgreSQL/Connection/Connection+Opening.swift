internal import CPostgreSQL
internal import EventLoop
internal import Glibc
internal import Logging

extension Connection {
  /// Starts to connect; the owner hears how it went, never before this call has returned.
  ///
  /// Hosts are tried one after the other, each for as long as the configuration says: a host that swallows everything must not keep
  /// the others from being asked.
  func open() {
    assert(state == .new, "a connection is opened once")
    candidates = settings.preference.order(settings.configuration.hosts)
    connectTimer.onFire = { [unowned self] in
      connectingFailed(DatabaseError(.connectionLost, "connecting took too long"))
    }
    connectNext()
  }

  private func connectNext() {
    let (index, host) = candidates.removeFirst()
    hostIndex = index
    state = .resolving
    let configuration = settings.configuration
    loop.arm(connectTimer, after: configuration.connectTimeout)
    let isKnown =
      host.isSocketPath || host.address != nil
      || SocketAddress(ip: host.name, port: host.port) != nil
    if isKnown && configuration.passwordFile == nil {
      loop.execute {
        self.start(
          host, index, addresses: host.address.map { [$0] } ?? [], password: configuration.password)
      }
      return
    }
    // Name look-up and file reading block: neither may happen on the loop.
    loop.spawn { [self] in
      do {
        let found = try await blocking.run {
          (
            isKnown
              ? host.address.map { [$0] } ?? []
              : try SocketAddress.resolve(host: host.name, port: host.port).map(\.host),
            try configuration.passwordFile.map(readPassword) ?? configuration.password
          )
        }
        start(host, index, addresses: found.0, password: found.1)
      } catch {
        guard state == .resolving, hostIndex == index else { return }
        connectingFailed(DatabaseError(.connectionLost, "\(error)"))
      }
    }
  }

  private func start(
    _ host: DatabaseConfiguration.Host, _ index: Int, addresses: [String], password: String?
  ) {
    guard state == .resolving, hostIndex == index else { return }
    state = .connecting
    let parameters = settings.parameters(for: host, addresses: addresses, password: password)
    pointer = Self.withCStrings(parameters.map(\.0)) { keys in
      Self.withCStrings(parameters.map(\.1)) { values in PQconnectStartParams(keys, values, 0) }
    }
    guard let pointer, PQstatus(pointer) != CONNECTION_BAD else {
      return connectingFailed(.connection(pointer, "connecting failed"))
    }
    receiveNotices(pointer)
    // libpq: behave as if the last poll had said that it wants to write.
    awaitSocket(pointer, .writable)
  }

  /// The next host has its turn; the error of the last one is everybody's.
  private func connectingFailed(_ error: DatabaseError) {
    let name =
      settings.configuration.hosts.count > 1 ? "\(settings.configuration.hosts[hostIndex]): " : ""
    guard !candidates.isEmpty else { return fail(error.prefixed(name)) }
    log.debug(
      "a host of the database is none to connect to",
      metadata: ["host": "\(name)", "reason": "\(error)"])
    watch?.cancel()
    watch = nil
    if let pointer {
      self.pointer = nil
      PQfinish(pointer)
    }
    connectNext()
  }

  func pollConnecting() {
    guard let pointer else { return }
    switch PQconnectPoll(pointer) {
    case PGRES_POLLING_READING: awaitSocket(pointer, .readable)
    case PGRES_POLLING_WRITING: awaitSocket(pointer, .writable)
    case PGRES_POLLING_OK: becomeOpen(pointer)
    default: connectingFailed(.connection(pointer, "connecting failed"))
    }
  }

  /// Watches anew after each poll: libpq may have gone on to the next address with another socket, even of the same number.
  private func awaitSocket(_ pointer: OpaquePointer, _ readiness: Readiness) {
    watch?.cancel()
    do {
      watch = try loop.watch(PQsocket(pointer), for: readiness, self)
    } catch {
      watch = nil
      connectingFailed(DatabaseError(.connectionLost, error.message))
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
    settings.preference.prefer(hostIndex)
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
