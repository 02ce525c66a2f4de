import EventLoop
import Glibc
import Testing

@testable import ServiceKit

@Suite("What a supervisor sees")
struct SupervisorTests {
  /// A datagram socket as systemd's: bound to a path, or to an abstract name.
  private final class Supervisor {
    let name: String
    private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

    init(isAbstract: Bool) throws {
      let text = "servicekit-\(UInt64.random(in: .min ... .max))"
      name = isAbstract ? "@\(text)" : "/tmp/\(text)"
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = isAbstract ? [0] + Array(text.utf8) : Array(name.utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let result = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, socklen_t(2 + bytes.count)) }
      }
      try #require(result == 0)
    }

    deinit {
      close(descriptor)
      if name.hasPrefix("/") { unlink(name) }
    }

    /// What has arrived; nil when nothing has. Sending to a datagram socket is done when it returns.
    func next() -> String? {
      var bytes = [UInt8](repeating: 0, count: 512)
      let count = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      return count < 0 ? nil : String(decoding: bytes[..<count], as: UTF8.self)
    }
  }

  @Test("systemd is told when the process is ready, alive and stopping", arguments: [false, true])
  func notifies(isAbstract: Bool) throws {
    let supervisor = try Supervisor(isAbstract: isAbstract)
    let notifier = SystemdNotifier(environment: ["NOTIFY_SOCKET": supervisor.name])
    notifier.ready("serving")
    #expect(supervisor.next() == "READY=1\nSTATUS=serving")
    notifier.alive()
    #expect(supervisor.next() == "WATCHDOG=1")
    notifier.stopping("draining")
    #expect(supervisor.next() == "STOPPING=1\nSTATUS=draining")
    #expect(supervisor.next() == nil)
  }

  @Test("Without systemd nothing is told and nothing fails")
  func withoutSystemd() {
    for environment in [
      [:], ["NOTIFY_SOCKET": ""], ["NOTIFY_SOCKET": "relative"], ["NOTIFY_SOCKET": "/nonexistent/socket"],
      ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)],
    ] {
      SystemdNotifier(environment: environment).ready("x")
    }
  }

  @Test(
    "The watchdog's interval is this process's only",
    arguments: [
      (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "30000000"], Duration.seconds(30)),
      (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "42"], .microseconds(1)),
      (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "43"], nil),
      (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "0"], nil),
      (["NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "x"], nil), (["WATCHDOG_USEC": "1"], nil), (["NOTIFY_SOCKET": "/x"], nil),
    ] as [([String: String], Duration?)])
  func watchdog(_ environment: [String: String], _ interval: Duration?) {
    #expect(SystemdNotifier(environment: environment, pid: 42).watchdogInterval == interval)
  }

  @Test("Inherited sockets are taken over by name, and only when they are meant for this process")
  func activation() {
    let sockets = { (environment: [String: String]) in SocketActivation(environment: environment, pid: 42).descriptors }
    #expect(sockets(["LISTEN_PID": "42", "LISTEN_FDS": "2"]) == [.grpc: [3, 4]])
    #expect(
      sockets(["LISTEN_PID": "42", "LISTEN_FDS": "3", "LISTEN_FDNAMES": "parley-auth.socket:tls:tls"]) == [
        .grpc: [3], .tls: [4, 5],
      ])
    #expect(sockets(["LISTEN_PID": "43", "LISTEN_FDS": "2"]) == [:])
    #expect(sockets(["LISTEN_FDS": "2"]) == [:])
    #expect(sockets(["LISTEN_PID": "42", "LISTEN_FDS": "-1"]) == [:])
    #expect(sockets(["LISTEN_PID": "42", "LISTEN_FDS": "x"]) == [:])
  }

  @Test("The port file has the addresses in use as JSON, and is gone afterwards")
  func portFile() throws {
    let file = PortFile(path: "/tmp/servicekit-ports-\(UInt64.random(in: .min ... .max))")
    var addresses = BoundAddresses()
    addresses.grpc = try SocketAddress("127.0.0.1:1234")
    addresses.admin = try SocketAddress("[::1]:5")
    try file.write(addresses)
    #expect(try TextFile.read(file.path) == #"{"grpc":"127.0.0.1:1234","admin":"[::1]:5"}"# + "\n")
    addresses.admin = nil
    try file.write(addresses)
    #expect(try TextFile.read(file.path) == #"{"grpc":"127.0.0.1:1234"}"# + "\n")
    file.remove()
    #expect(access(file.path, F_OK) != 0)
    #expect(throws: EventLoopError.self) { try PortFile(path: "/nonexistent/ports").write(addresses) }
  }

  @Test("A loop that hangs is found, one that turns is not")
  func liveness() throws {
    let loops = try EventLoopGroup(count: 2, name: "live")
    let liveness = LoopLiveness(loops)
    defer {
      liveness.stop()
      loops.shutDown()
    }
    // The second loop is held until the test lets it go.
    let held = Gate()
    loops.loops[1].execute { held.wait() }
    let deadline = MonotonicInstant.now().advanced(by: .seconds(10))
    var stalled = liveness.stalled(for: .milliseconds(600))
    while stalled != ["live-1"] && MonotonicInstant.now() < deadline {
      usleep(20_000)  // between two looks
      stalled = liveness.stalled(for: .milliseconds(600))
    }
    #expect(stalled == ["live-1"])
    held.open()
    while !stalled.isEmpty && MonotonicInstant.now() < deadline {
      usleep(20_000)  // between two looks
      stalled = liveness.stalled(for: .milliseconds(600))
    }
    #expect(stalled.isEmpty)
  }

  @Test("Errors at the start have the exit codes of sysexits")
  func exitCodes() {
    #expect(ServiceFailure(ConfigurationError([.init(key: nil, variable: "X", "y")])).status.rawValue == 78)
    #expect(ServiceFailure(EventLoopError(.systemCall, "listening on 127.0.0.1:1: Address already in use")).status.rawValue == 75)
    #expect(ServiceFailure(CancellationError()).status.rawValue == 70)
    #expect(ServiceFailure(ServiceFailure(.unavailable, "x")).status.rawValue == 69)
  }
}

/// A gate that a thread waits at: a pipe that somebody writes to.
final class Gate: Sendable {
  private let ends: (Int32, Int32)

  init() {
    var pair: [Int32] = [0, 0]
    pipe(&pair)
    ends = (pair[0], pair[1])
  }

  deinit {
    close(ends.0)
    close(ends.1)
  }

  func wait() {
    var byte: UInt8 = 0
    while read(ends.0, &byte, 1) < 0 && errno == EINTR {}
  }

  func open() {
    var byte: UInt8 = 1
    _ = write(ends.1, &byte, 1)
  }
}

enum TextFile {
  static func read(_ path: String) throws -> String {
    guard let file = fopen(path, "re") else { throw EventLoopError(.systemCall, "no \(path)", errno: errno) }
    defer { fclose(file) }
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    // To its end, however long it is: the kernel's table of connections grows with what else the machine does.
    while case let count = fread(&bytes, 1, bytes.count, file), count > 0 { text += bytes[..<count] }
    return String(decoding: text, as: UTF8.self)
  }
}
