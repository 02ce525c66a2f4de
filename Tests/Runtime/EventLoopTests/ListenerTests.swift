import EventLoop
import Glibc
import Synchronization
import TestSupport
import Testing

@Suite("Listeners")
struct ListenerTests {
  /// A fresh path for a Unix socket.
  private static func path() -> String { "/tmp/parley-\(getpid())-\(UInt64.random(in: 0 ... .max)).sock" }

  private static func connect(_ address: SocketAddress) -> Int32 {
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard address.withSockaddr({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
      close(descriptor)
      return -1
    }
    return descriptor
  }

  @Test("Connections go to the least busy loop")
  func leastBusy() async throws {
    let group = try EventLoopGroup(count: 3)
    group.loops[0].takeLoad()
    group.loops[0].takeLoad()
    let accepted = Tally("connections")
    let wrongLoop = Tally("connections on the wrong loop")
    let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { descriptor, peer, loop in
      if !loop.isCurrent || !peer.isLoopback { wrongLoop.add() }
      close(descriptor)
      accepted.add()
    }
    #expect(listener.address.port != 0)
    listener.start()
    for number in 1...13 {
      let descriptor = Self.connect(listener.address)
      #expect(descriptor >= 0)
      close(descriptor)
      try await accepted.reaches(number)
    }
    #expect(group.loops.map(\.load) == [5, 5, 5])
    #expect(wrongLoop.value == 0)
    listener.close()
    group.shutDown()
  }

  @Test("A Unix socket is served, a stale one replaced, a live one refused, and its path removed at the end")
  func unix() async throws {
    let group = try EventLoopGroup(count: 1)
    let address = SocketAddress(.unix(path: Self.path()))
    guard case .unix(let path) = address.kind else { return }
    // A socket that was bound and then forgotten, as a killed process leaves it.
    let stale = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #expect(address.withSockaddr { bind(stale, $0, $1) } == 0)
    close(stale)
    let accepted = Tally("connections")
    let listener = try Listener(on: address, group: group) { descriptor, _, _ in
      close(descriptor)
      accepted.add()
    }
    listener.start()
    close(Self.connect(address))
    try await accepted.reaches(1)
    #expect(throws: EventLoopError.self) { try Listener(on: address, group: group) { _, _, _ in } }
    listener.close()
    listener.close()
    group.shutDown()
    #expect(Glibc.access(path, F_OK) != 0)
  }

  @Test(
    "A Unix socket has the mode and the group that it was given, whatever the umask",
    arguments: [0o600, 0o660, 0o666] as [UInt32])
  func access(_ mode: UInt32) throws {
    let group = try EventLoopGroup(count: 1)
    let path = Self.path()
    let listener = try Listener(
      on: SocketAddress(.unix(path: path)), group: group, unixAccess: UnixSocketAccess(mode: mode, group: getegid())
    ) { descriptor, _, _ in close(descriptor) }
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == mode && status.st_gid == getegid())
    listener.start()
    listener.close()
    group.shutDown()
  }

  @Test("A path that another process has taken over meanwhile is left to it")
  func takenOver() throws {
    let group = try EventLoopGroup(count: 1)
    let path = Self.path()
    let listener = try Listener(on: SocketAddress(.unix(path: path)), group: group) { descriptor, _, _ in close(descriptor) }
    listener.start()
    unlink(path)
    let other = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    #expect(SocketAddress(.unix(path: path)).withSockaddr { bind(other, $0, $1) } == 0)
    listener.close()
    group.shutDown()
    #expect(Glibc.access(path, F_OK) == 0)
    unlink(path)
    close(other)
  }

  @Test("A file that is no socket is never deleted to make room for one")
  func regularFile() throws {
    let group = try EventLoopGroup(count: 1)
    let path = Self.path()
    close(open(path, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: EventLoopError.self) { try Listener(on: SocketAddress(.unix(path: path)), group: group) { _, _, _ in } }
    #expect(Glibc.access(path, F_OK) == 0)
    unlink(path)
    group.shutDown()
  }

  @Test("A path too long for a Unix socket is refused, not cut", arguments: [107, 108, 109, 126, 5_000])
  func longPath(_ count: Int) throws {
    let path = "/tmp/" + String(repeating: "p", count: count - 5)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let isBound = SocketAddress(.unix(path: path)).withSockaddr { bind(descriptor, $0, $1) } == 0
    #expect(isBound == (count == 107))
    unlink(path)
    close(descriptor)
  }

  @Test("An inherited socket is served, and closed in programs that this one starts")
  func inherited() async throws {
    let group = try EventLoopGroup(count: 1)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #expect(try SocketAddress("127.0.0.1:0").withSockaddr { bind(descriptor, $0, $1) } == 0)
    #expect(listen(descriptor, 8) == 0)
    let accepted = Tally("connections")
    let listener = try Listener(inheriting: descriptor, group: group) { descriptor, _, _ in
      close(descriptor)
      accepted.add()
    }
    #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
    listener.start()
    close(Self.connect(listener.address))
    try await accepted.reaches(1)
    listener.close()
    group.shutDown()
  }

  @Test("A listener that is closed before it began never listens")
  func closedEarly() async throws {
    let group = try EventLoopGroup(count: 1)
    let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { descriptor, _, _ in close(descriptor) }
    try await group.loops[0].perform {
      listener.start()
      listener.close()
      await Task.yield()
      try await EventLoop.current?.sleep(for: .milliseconds(2))
    }
    #expect(Self.connect(listener.address) < 0)
    group.shutDown()
  }

  @Test("A port in use is refused with the reason")
  func portInUse() throws {
    let group = try EventLoopGroup(count: 1)
    let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { _, _, _ in }
    let error = #expect(throws: EventLoopError.self) { try Listener(on: listener.address, group: group) { _, _, _ in } }
    #expect(error?.errno == EADDRINUSE)
    listener.close()
    group.shutDown()
  }

  @Test("Out of descriptors, new connections are refused without spinning, and taken again when there are some")
  func exhaustion() async {
    _ = await #expect(processExitsWith: .success) {
      let group = try EventLoopGroup(count: 1)
      let accepted = Tally("connections")
      let held = Mutex<[Int32]>([])
      let listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { descriptor, _, _ in
        held.withLock { $0.append(descriptor) }
        accepted.add()
      }
      listener.start()
      var clients = (0..<8).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
      func connect(_ descriptor: Int32) { _ = listener.address.withSockaddr { Glibc.connect(descriptor, $0, $1) } }
      connect(clients[0])
      try await accepted.reaches(1)
      // No descriptor is left from here on: the limit is the lowest one that is free.
      let lowest = dup(0)
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      let full = rlimit(rlim_cur: rlim_t(lowest), rlim_max: limit.rlim_max)
      close(lowest)
      withUnsafePointer(to: full) { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), $0) }
      var before = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &before)
      for client in clients[1..<4] { connect(client) }
      // The reserve takes and closes one of them: its client sees the end of the connection.
      var polls = clients[1..<4].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      guard poll(&polls, 3, 5_000) > 0 else { exit(3) }
      // Time in which a loop that spins would spend what is measured below.
      poll(nil, 0, 500)
      var after = rusage()
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &after)
      let spent = (after.ru_utime.tv_sec - before.ru_utime.tv_sec) * 1_000_000 + after.ru_utime.tv_usec - before.ru_utime.tv_usec
      guard spent < 200_000 else { exit(4) }
      withUnsafePointer(to: limit) { _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), $0) }
      for client in clients[4...] { connect(client) }
      try await accepted.reaches(5)
      for client in clients { close(client) }
      clients = []
      listener.close()
      group.shutDown()
      exit(0)
    }
  }
}
