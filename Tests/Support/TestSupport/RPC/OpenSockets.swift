internal import Glibc

/// The sockets of this process as the kernel lists them, so that a test can tell whether one was left open.
public enum OpenSockets {
  /// Connected TCP sockets (IPv4) whose own port is `port` and that some descriptor still holds.
  public static func connected(onPort port: UInt16) -> Int {
    count { local, _, state in local == port && state != listening }
  }

  /// Connected TCP sockets (IPv4) that lead to `port` and that some descriptor still holds.
  public static func connected(toPort port: UInt16) -> Int {
    count { _, remote, state in remote == port && state != listening }
  }

  /// How many descriptors this process has open.
  public static var descriptors: Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = -3
    while readdir(directory) != nil { count += 1 }
    return count
  }

  private static let listening = "0A"

  private static func count(_ isCounted: (UInt16, UInt16, Substring) -> Bool) -> Int {
    var total = 0
    for line in text("/proc/self/net/tcp").split(separator: "\n").dropFirst() {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count > 9, let local = port(fields[1]), let remote = port(fields[2]) else { continue }
      // A socket without an inode belongs to nobody any more: the kernel only finishes its protocol.
      if fields[9] != "0" && isCounted(local, remote, fields[3]) { total += 1 }
    }
    return total
  }

  private static func port(_ address: Substring) -> UInt16? {
    address.split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
  }

  private static func text(_ path: String) -> String {
    guard let file = fopen(path, "r") else { return "" }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = fread(&buffer, 1, buffer.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }
}
