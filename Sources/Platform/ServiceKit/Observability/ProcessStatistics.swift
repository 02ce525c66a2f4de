internal import CShims
internal import Glibc

/// What the kernel says about this process, read when somebody asks.
enum ProcessStatistics {
  /// Bytes in memory.
  static var residentBytes: Double { statm(1) }
  /// Bytes of address space.
  static var virtualBytes: Double { statm(0) }

  /// Seconds of CPU, in the program and in the kernel on its behalf.
  static var cpuSeconds: Double { (status(14) + status(15)) / ticksPerSecond }

  /// Descriptors that are open.
  static var openDescriptors: Double {
    var status = stat()
    // Since Linux 6.2 the folder's size is the number; before, it has to be counted.
    guard stat("/proc/self/fd", &status) == 0 else { return .nan }
    if status.st_size > 0 { return Double(status.st_size) }
    guard let folder = opendir("/proc/self/fd") else { return .nan }
    defer { closedir(folder) }
    // Not `.`, not `..`, and not the descriptor that reads the folder.
    var count = -3
    while readdir(folder) != nil { count += 1 }
    return Double(count)
  }

  /// Descriptors that may be open.
  static var descriptorLimit: Double {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(7), &limit) == 0 else { return .nan }
    return Double(limit.rlim_cur)
  }

  /// When the process began, in seconds since 1970.
  static let startSeconds: Double = {
    let uptime = (read("/proc/uptime") ?? []).prefix { $0 != UInt8(ascii: " ") }
    guard let uptime = Double(String(decoding: uptime, as: UTF8.self)) else { return .nan }
    return Double(parley_realtime_nanoseconds()) / 1_000_000_000 - uptime + status(22) / ticksPerSecond
  }()

  private static var ticksPerSecond: Double { Double(sysconf(Int32(_SC_CLK_TCK))) }

  /// A field of proc(5)'s `stat`, from 3 on: behind the name in brackets, which may hold anything.
  private static func status(_ field: Int) -> Double {
    guard let text = read("/proc/self/stat"), let end = text.lastIndex(of: UInt8(ascii: ")")) else { return .nan }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > field - 3 else { return .nan }
    return Double(String(decoding: fields[field - 3], as: UTF8.self)) ?? .nan
  }

  private static func statm(_ field: Int) -> Double {
    let fields = (read("/proc/self/statm") ?? []).split(separator: UInt8(ascii: " "))
    guard fields.count > field, let pages = Double(String(decoding: fields[field], as: UTF8.self)) else { return .nan }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
  }

  private static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count > 0 ? Array(bytes[..<count]) : nil
  }
}
