internal import Glibc

/// A file of the checkout that the tests run in, by its path from the top: what is committed and compared.
public struct CheckoutFile: Sendable, CustomStringConvertible {
  private let path: String

  /// The file of a path such as `Tests/Services/call-costs.json`.
  public init(_ path: String) {
    // Tests/Support/TestSupport/CheckoutFile.swift, as the compiler was told of it.
    let own: String = #filePath
    self.path = "/" + own.split(separator: "/").dropLast(4).joined(separator: "/") + "/" + path
  }

  /// Where it is.
  public var description: String { path }

  /// Whether there is such a file.
  public var exists: Bool { access(path, R_OK) == 0 }

  /// All of it.
  public func read() throws -> String {
    guard let input = fopen(path, "re") else { throw TimedOut("\(path), which cannot be read") }
    defer { fclose(input) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = fread(&chunk, 1, chunk.count, input)
      if count == 0 { break }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Puts this text in its place.
  public func write(_ text: String) throws {
    guard let output = fopen(path, "we") else { throw TimedOut("\(path), which cannot be written") }
    let isWritten = fputs(text, output) >= 0
    guard fclose(output) == 0, isWritten else { throw TimedOut("\(path), which cannot be written") }
  }
}
