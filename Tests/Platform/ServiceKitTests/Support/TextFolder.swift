import Glibc
import Testing

/// A folder of a test's own, gone with it.
final class TextFolder: Sendable {
  let path: String

  init() throws {
    path = "/tmp/servicekit-folder-\(UInt64.random(in: .min ... .max))"
    try #require(mkdir(path, 0o700) == 0)
  }

  deinit { Self.remove(path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file in place, as an editor or `cat >` does.
  func write(_ name: String, _ bytes: [UInt8]) throws {
    let descriptor = open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == bytes.count)
  }

  /// Writes beside and moves into place, as careful programs do.
  func replace(_ name: String, _ bytes: [UInt8]) throws {
    try write(name + ".new", bytes)
    try #require(rename(file(name + ".new"), file(name)) == 0)
  }

  private static func remove(_ path: String) {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name == "." || name == ".." { continue }
      let child = "\(path)/\(name)"
      var status = stat()
      if lstat(child, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { remove(child) } else { unlink(child) }
    }
    closedir(folder)
    rmdir(path)
  }
}
