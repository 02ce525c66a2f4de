import ArgumentParser
import Glibc

/// The settings that the environment holds or, where it does not, the file that `make run` leaves in `.local/run.env`.
struct LocalSettings {
  private let environment: [String: String]
  private let file: [String: String]

  /// Settings from their two sources.
  init(environment: [String: String], file: [String: String] = [:]) {
    self.environment = environment
    self.file = file
  }

  /// A setting; an empty one counts as absent.
  subscript(name: String) -> String? {
    for value in [environment[name], file[name]] { if let value, !value.isEmpty { return value } }
    return nil
  }

  /// Whether the environment itself holds a setting.
  func isSetOutside(_ name: String) -> Bool { environment[name]?.isEmpty == false }

  /// All settings whose names are `prefix`, a number from 1 on, and `suffix`, in order.
  func numbered(_ prefix: String, _ suffix: String) -> [String] {
    var values: [String] = []
    while let value = self["\(prefix)\(values.count + 1)\(suffix)"] { values.append(value) }
    return values
  }

  /// Those of this process: the file is looked for in the working directory and its parents.
  static func current() throws -> LocalSettings {
    var environment: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { environment[String(parts[0])] = String(parts[1]) }
      next += 1
    }
    var folder = getcwd(nil, 0).map { pointer in
      defer { free(pointer) }
      return String(cString: pointer)
    }
    while let present = folder {
      let path = (present == "/" ? "" : present) + "/.local/run.env"
      if access(path, R_OK) == 0 {
        return LocalSettings(environment: environment, file: parse(try StandardInput.read(file: path)))
      }
      folder = present == "/" ? nil : present.lastIndex(of: "/").map { $0 == present.startIndex ? "/" : String(present[..<$0]) }
    }
    return LocalSettings(environment: environment)
  }

  /// Reads lines of `NAME=value` whose values are quoted for a shell with backslashes (`printf %q`).
  static func parse(_ bytes: [UInt8]) -> [String: String] {
    var values: [String: String] = [:]
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      guard let equals = line.firstIndex(of: UInt8(ascii: "=")), line.first != UInt8(ascii: "#") else { continue }
      var value: [UInt8] = []
      var isEscaped = false
      for byte in line[line.index(after: equals)...] {
        if byte == UInt8(ascii: "\\") && !isEscaped {
          isEscaped = true
        } else {
          value.append(byte)
          isEscaped = false
        }
      }
      let text = String(decoding: value, as: UTF8.self)
      values[String(decoding: line[..<equals], as: UTF8.self)] = text == "''" ? "" : text
    }
    return values
  }
}
