internal import CShims
public import Glibc

/// Tells systemd how the process is doing, by its notification protocol: datagrams on `NOTIFY_SOCKET` (sd_notify(3)).
///
/// Without that variable it does nothing. Nothing here can fail a process: a supervisor that is not there is not told.
public struct SystemdNotifier: Sendable {
  private let path: String?
  /// How often systemd wants a sign of life, or nil.
  public let watchdogInterval: Duration?

  /// Reads `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
  ///
  /// - Parameters:
  ///   - environment: The variables of the process.
  ///   - pid: The id of this process; a watchdog for another one is none of ours.
  public init(environment: [String: String], pid: Int32 = getpid()) {
    path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let isOurs = environment["WATCHDOG_PID"].map { Int32($0) == pid } ?? true
    let microseconds = environment["WATCHDOG_USEC"].flatMap(Int64.init) ?? 0
    watchdogInterval = path != nil && isOurs && microseconds > 0 ? .microseconds(microseconds) : nil
  }

  /// Everything is up.
  public func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }

  /// The process drains.
  public func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(status)") }

  /// The process reads its files again; ``ready(_:)`` says that it is done.
  public func reloading() {
    // systemd pairs the message with the reload that it began by the time on the monotonic clock.
    send("RELOADING=1\nMONOTONIC_USEC=\(parley_monotonic_nanoseconds() / 1_000)")
  }

  /// The process lives.
  public func alive() { send("WATCHDOG=1") }

  private func send(_ text: String) {
    guard let path else { return }
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
    let isAbstract = bytes[0] == UInt8(ascii: "@")
    if isAbstract { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    // An abstract name ends where the length says, a path with its NUL.
    let length = socklen_t(2 + bytes.count + (isAbstract ? 0 : 1))
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        _ = Array(text.utf8).withUnsafeBytes { sendto(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL), raw, length) }
      }
    }
  }
}
