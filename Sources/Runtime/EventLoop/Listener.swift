internal import CShims
internal import Glibc

/// One listening socket whose connections go to the least busy loop of a group.
///
/// Accepting is the one step that crosses threads, so a socket that was inherited from a supervisor works too. Connections beyond
/// what its ``AcceptGate`` allows are accepted and closed. Out of descriptors, it gives up its reserve to do the same with those
/// that wait, and pauses, instead of spinning.
public final class Listener: DescriptorHandler {
  /// Receives a connected, non-blocking descriptor on the loop that shall own it. One unit of load is the connection's
  /// already: its owner gives it back with ``EventLoop/giveBackLoad()`` when it closes.
  public typealias Accepted = @Sendable (_ descriptor: Int32, _ peer: SocketAddress, _ loop: EventLoop) -> Void

  /// Where it listens, with the port that the system chose.
  public let address: SocketAddress

  private let descriptor: Int32
  private let group: EventLoopGroup
  private let loop: EventLoop
  private let onAccept: Accepted
  private let gate: AcceptGate?
  private let refusals: RefusalReport
  private var watch: DescriptorWatch?
  private var isClosed = false
  private var reserve: Int32 = -1
  private var resume: LoopTimer?
  /// The file of a Unix socket that this listener has made; nil for one that somebody else has.
  private let file: FileIdentity?
  /// How many connections one readiness event may bring before the loop's other work has its turn.
  private static let acceptsPerTick = 64

  /// Binds and listens; connections arrive once ``start()`` was called. Port 0 lets the system choose.
  ///
  /// A Unix socket that nobody answers on any more is replaced; one in use is an error. Nobody can connect to it before
  /// `unixAccess` holds.
  ///
  /// - Parameters:
  ///   - address: Where it listens.
  ///   - group: The loops that get the connections; the first one accepts.
  ///   - backlog: How many connections may wait to be accepted.
  ///   - unixAccess: Who may connect to a Unix socket.
  ///   - gate: What counts the connections. Whoever is given one says when it closes, by ``AcceptGate/leave(_:)``.
  ///   - onRefuse: Told of connections that were closed at once, at most once a second, on the listener's loop.
  ///   - onAccept: Given each connection, on the loop that it is for.
  public convenience init(
    on address: SocketAddress, group: EventLoopGroup, backlog: Int32 = 1024, unixAccess: UnixSocketAccess = .init(),
    gate: AcceptGate? = nil, onRefuse: @escaping @Sendable (AcceptRefusals) -> Void = { _ in }, onAccept: @escaping Accepted
  ) throws(EventLoopError) {
    let descriptor = socket(
      address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw .systemCall("socket") }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    if case .unix(let path) = address.kind { Self.removeStaleSocket(path, address) }
    do throws(EventLoopError) {
      guard address.withSockaddr({ bind(descriptor, $0, $1) }) == 0 else { throw .systemCall("listening on \(address)") }
      if case .unix(let path) = address.kind { try unixAccess.apply(to: path) }
      guard listen(descriptor, backlog) == 0 else { throw .systemCall("listening on \(address)") }
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    try self.init(
      inheriting: descriptor, group: group, ownsPath: true, gate: gate, onRefuse: onRefuse, onAccept: onAccept)
  }

  /// Takes over a socket that listens already (systemd's socket activation).
  public init(
    inheriting descriptor: Int32, group: EventLoopGroup, ownsPath: Bool = false, gate: AcceptGate? = nil,
    onRefuse: @escaping @Sendable (AcceptRefusals) -> Void = { _ in }, onAccept: @escaping Accepted
  ) throws(EventLoopError) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let address = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        getsockname(descriptor, raw, &length) == 0 ? SocketAddress(raw) : nil
      }
    }
    guard let address else { throw .systemCall("getsockname") }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    self.address = address
    self.descriptor = descriptor
    self.group = group
    if ownsPath, case .unix(let path) = address.kind { file = FileIdentity(path) } else { file = nil }
    self.gate = gate
    self.onAccept = onAccept
    loop = group.loops[0]
    refusals = RefusalReport(on: loop, onRefuse)
  }

  /// Begins to accept.
  public func start() {
    loop.execute { [self] in
      guard !isClosed, watch == nil else { return }
      reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
      watch = try? loop.watch(descriptor, for: .readable, self)
    }
  }

  /// Stops accepting and closes the socket; connections live on. Later calls do nothing. From any thread.
  public func close() {
    if loop.isCurrent { closeOnLoop() } else { loop.execute { self.closeOnLoop() } }
  }

  private func closeOnLoop() {
    guard !isClosed else { return }
    isClosed = true
    watch?.cancel()
    watch = nil
    if let resume { loop.disarm(resume) }
    refusals.finish()
    // First the name, then the socket: while it is served nobody takes the name over. Unless somebody has removed the file before.
    if let file, case .unix(let path) = address.kind, FileIdentity(path) == file { unlink(path) }
    Glibc.close(descriptor)
    if reserve >= 0 { Glibc.close(reserve) }
  }

  /// Accepts what waits; called by the loop.
  public func descriptorIsReady(_ readiness: Readiness) {
    for _ in 0..<Self.acceptsPerTick {
      guard let (accepted, peer) = accept() else {
        if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM { pauseForLackOfDescriptors() }
        if errno == EINTR || errno == ECONNABORTED { continue }
        return
      }
      if let refusal = gate?.enter(peer) {
        Glibc.close(accepted)
        refusals.add(refusal, peer)
      } else {
        hand(over: accepted, from: peer)
      }
    }
  }

  private func accept() -> (descriptor: Int32, peer: SocketAddress)? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let accepted = parley_accept(descriptor, &storage, &length)
    guard accepted >= 0 else { return nil }
    let peer = withUnsafePointer(to: &storage) { pointer in
      // A client's end of a Unix socket has no name of its own.
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { length > 2 ? SocketAddress($0) : nil }
    }
    return (accepted, peer ?? address)
  }

  private func hand(over accepted: Int32, from peer: SocketAddress) {
    if peer.port != nil {
      var one: Int32 = 1
      setsockopt(accepted, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }
    let owner = group.takeLeastBusy()
    if owner === loop {
      onAccept(accepted, peer, owner)
    } else {
      owner.execute { [onAccept] in onAccept(accepted, peer, owner) }
    }
  }

  /// Connections that cannot be accepted would stay readable for ever: one after the other takes the reserve's place and is closed.
  private func pauseForLackOfDescriptors() {
    if reserve >= 0 { Glibc.close(reserve) }
    for _ in 0..<Self.acceptsPerTick {
      guard let (refused, peer) = accept() else { break }
      Glibc.close(refused)
      refusals.addOutOfDescriptors(peer)
    }
    reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
    watch?.setInterest([])
    let timer = resume ?? LoopTimer { [unowned self] in goOn() }
    resume = timer
    loop.arm(timer, after: .milliseconds(100))
  }

  private func goOn() {
    // Somebody else may have been faster to take its place.
    if reserve < 0 { reserve = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    watch?.setInterest(.readable)
  }

  private static func removeStaleSocket(_ path: String, _ address: SocketAddress) {
    // Any file refuses a connection: only a socket may be taken for a stale one.
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
    let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard probe >= 0 else { return }
    defer { Glibc.close(probe) }
    if address.withSockaddr({ connect(probe, $0, $1) }) != 0 && errno == ECONNREFUSED { unlink(path) }
  }
}

// SAFETY: after `start`, everything is touched on `loop` only.
extension Listener: @unchecked Sendable {}
