import Glibc
import TestSupport

/// Time on processors, as the scheduler counts it: of a service and what it has started, and of a PostgreSQL cluster.
struct ProcessorTime {
  /// Of the service's own threads, in nanoseconds.
  var service: Int64 = 0
  /// Of the processes that it has started and waited for. The kernel counts it in hundredths of a second.
  var children: Int64 = 0
  /// Of all of the cluster's processes.
  var postgres: Int64 = 0

  /// What has been used by now.
  ///
  /// - Parameters:
  ///   - service: The service's process.
  ///   - postmaster: The cluster's first process.
  static func used(by service: pid_t, and postmaster: pid_t) throws -> Self {
    let own = try Status(service)
    let first = try Status(postmaster)
    // What has ended is counted by whom it belonged to.
    let sessions = try numbers(in: "/proc").filter { (try? Status($0).parent) == postmaster }
    return ProcessorTime(
      service: try threads(of: service), children: own.children,
      postgres: ([postmaster] + sessions).reduce(first.children) { $0 + ((try? threads(of: $1)) ?? 0) })
  }

  static func - (left: Self, right: Self) -> Self {
    Self(
      service: left.service - right.service, children: left.children - right.children, postgres: left.postgres - right.postgres)
  }

  /// Without what is used in that time when nobody calls.
  func without(_ idle: Self, seconds: Double) -> Self {
    Self(
      service: service - Int64(Double(idle.service) * seconds), children: children,
      postgres: postgres - Int64(Double(idle.postgres) * seconds))
  }

  /// In a second.
  func each(_ seconds: Double) -> Self {
    Self(
      service: Int64(Double(service) / seconds), children: Int64(Double(children) / seconds),
      postgres: Int64(Double(postgres) / seconds))
  }

  private static func threads(of process: pid_t) throws -> Int64 {
    try numbers(in: "/proc/\(process)/task").reduce(0) { sum, task in
      // One that has just ended has no file any more.
      let text = (try? file("/proc/\(process)/task/\(task)/schedstat")) ?? ""
      return sum + (text.split(separator: " ").first.flatMap { Int64($0) } ?? 0)
    }
  }

  private struct Status {
    let parent: pid_t
    let children: Int64

    init(_ process: pid_t) throws {
      // Behind the name, which may hold blanks.
      let text = try file("/proc/\(process)/stat")
      guard let end = text.lastIndex(of: ")") else { throw TimedOut("the status of process \(process)") }
      let fields = text[text.index(after: end)...].split(separator: " ").map(String.init)
      guard fields.count > 14, let parent = pid_t(fields[1]), let user = Int64(fields[13]), let system = Int64(fields[14]) else {
        throw TimedOut("the status of process \(process)")
      }
      self.parent = parent
      children = (user + system) * 1_000_000_000 / Int64(sysconf(Int32(_SC_CLK_TCK)))
    }
  }

  private static func numbers(in folder: String) throws -> [pid_t] {
    guard let directory = opendir(folder) else { throw TimedOut(folder) }
    defer { closedir(directory) }
    var found: [pid_t] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if let number = pid_t(name) { found.append(number) }
    }
    return found
  }

  private static func file(_ path: String) throws -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw TimedOut(path) }
    defer { close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: 4_096) { buffer, count in
      count = max(0, read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
