public import Glibc

/// Listening sockets that systemd opened for this process (sd_listen_fds(3)): they outlive a restart, so no connection is refused
/// while one service takes over from another.
public struct SocketActivation: Sendable, Equatable {
  /// What a listener is for.
  public enum Role: String, Sendable, CaseIterable {
    /// Clear-text HTTP/2.
    case grpc
    /// HTTP/2 over TLS.
    case tls
  }

  /// The descriptors by what they are for.
  public let descriptors: [Role: [Int32]]

  /// Reads `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`. A socket named `tls` is for TLS, one of any
  /// other name (systemd names them after the unit) for clear-text HTTP/2.
  ///
  /// - Parameters:
  ///   - environment: The variables of the process.
  ///   - pid: The id of this process: the variables may be meant for a parent.
  ///   - first: The number of the first descriptor, which the protocol fixes at 3.
  public init(environment: [String: String], pid: Int32 = getpid(), first: Int32 = 3) {
    var found: [Role: [Int32]] = [:]
    if environment["LISTEN_PID"].flatMap(Int32.init) == pid, let count = environment["LISTEN_FDS"].flatMap(Int32.init), count > 0,
      count < 1_024
    {
      let names = environment["LISTEN_FDNAMES"]?.split(separator: ":", omittingEmptySubsequences: false).map(String.init) ?? []
      for index in 0..<count {
        let name = Int(index) < names.count ? names[Int(index)] : ""
        found[Role(rawValue: name) ?? .grpc, default: []].append(first + index)
      }
    }
    descriptors = found
  }

  /// Keeps the descriptors from child processes, which would hold the sockets open.
  func closeOnExec() {
    for descriptor in descriptors.values.joined() { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
  }
}
