import ArgumentParser
import Glibc

/// What is given to the command line other than in its arguments.
enum StandardInput {
  /// The most that is read, in bytes.
  static let limit = 8 << 20

  /// Everything up to the end of standard input.
  static func read() throws -> [UInt8] { try readAll(STDIN_FILENO, "standard input", limit) }

  /// The whole of a file.
  ///
  /// - Parameter limit: The most that is read, in bytes.
  static func read(file path: String, limit: Int = limit) throws -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw ValidationError("cannot read \(path): \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    return try readAll(descriptor, path, limit)
  }

  private static func readAll(_ descriptor: Int32, _ name: String, _ limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw ValidationError("cannot read \(name): \(String(cString: strerror(errno)))") }
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
      guard bytes.count <= limit else { throw ValidationError("\(name) holds more than \(limit) bytes") }
    }
  }
}
