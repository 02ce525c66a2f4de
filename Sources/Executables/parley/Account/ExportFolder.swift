import ArgumentParser
import Glibc
import JOSE
import ParleyAPI

/// Writes an export, each document a file `<folder>/<service>/<document>` that nobody else may read, and checks each hash.
final class ExportFolder {
  /// What came is not what it says it is.
  struct Damaged: Error, CustomStringConvertible {
    let document: String
    var description: String { "\(document) is damaged: it has another hash than the service says" }
  }

  let path: String
  private(set) var documents: [(name: String, size: Int64)] = []
  private var descriptor: Int32 = -1
  private let hash = RunningSHA256()

  /// A folder that is not there yet.
  ///
  /// - Throws: `ValidationError` when it is, or cannot be made.
  init(_ path: String) throws {
    self.path = path
    guard mkdir(path, 0o700) == 0 else {
      throw ValidationError("'\(path)' cannot be made: \(String(cString: strerror(errno))).")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Takes the next bytes.
  func write(_ part: DownloadExportResponse) throws {
    // What a server says is a name may be a way out of the folder.
    guard Self.isName(part.service), Self.isName(part.document) else {
      throw ValidationError(
        "The service names a document '\(Printable.text("\(part.service)/\(part.document)"))', which is no name.")
    }
    let name = "\(part.service)/\(part.document)"
    if descriptor < 0 {
      mkdir("\(path)/\(part.service)", 0o700)
      descriptor = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw ValidationError("'\(path)/\(name)' cannot be written: \(String(cString: strerror(errno))).")
      }
      documents.append((name, 0))
    }
    let bytes = Array(part.data)
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { throw ValidationError("'\(path)/\(name)' cannot be written: \(String(cString: strerror(errno))).") }
      rest = rest.dropFirst(count)
    }
    hash.update(bytes)
    documents[documents.count - 1].size += Int64(bytes.count)
    guard let sha256 = part.sha256 else { return }
    close(descriptor)
    descriptor = -1
    guard hash.finish() == Array(sha256) else { throw Damaged(document: name) }
  }

  static func isName(_ name: String) -> Bool {
    guard (1...64).contains(name.utf8.count), name.utf8.first != UInt8(ascii: ".") else { return false }
    return name.utf8.allSatisfy { byte in
      (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || [0x2d, 0x2e, 0x5f].contains(byte)
    }
  }
}
