import Glibc

/// A home that is gone with its last user.
final class Home: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/parley-home-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw ToolFailure(description: "no folder") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  var folder: String { path + "/.local/state/parley" }

  /// The files of sessions.
  var files: [String] { Self.names(folder).filter { $0.hasSuffix(".json") }.map { folder + "/" + $0 } }

  private static func names(_ folder: String) -> [String] {
    guard let directory = opendir(folder) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        })
    }
    return names.filter { $0 != "." && $0 != ".." }
  }

  deinit {
    for name in Self.names(folder) { unlink(folder + "/" + name) }
    for part in ["/.local/state/parley", "/.local/state", "/.local", ""] { rmdir(path + part) }
  }
}
