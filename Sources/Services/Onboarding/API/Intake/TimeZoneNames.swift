internal import Glibc

/// The time zones that this machine knows.
enum TimeZoneNames {
  /// Whether an identifier names a zone: `Europe/Berlin`.
  static func isKnown(_ name: String) -> Bool {
    // It becomes a path: nothing but names and slashes, and none that leads upwards.
    guard (1...64).contains(name.utf8.count), name.utf8.first.map({ (0x41...0x5a).contains($0) }) == true,
      name.utf8.allSatisfy({ byte in
        (0x41...0x5a).contains(byte & 0xdf) || (0x30...0x39).contains(byte) || [0x2f, 0x5f, 0x2d, 0x2b].contains(byte)
      })
    else { return false }
    var information = stat()
    return stat("/usr/share/zoneinfo/\(name)", &information) == 0 && information.st_mode & S_IFMT == S_IFREG
  }
}
