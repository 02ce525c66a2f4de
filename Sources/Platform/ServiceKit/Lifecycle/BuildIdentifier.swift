internal import Glibc

/// What names a binary, whatever its version says: the note that the linker leaves in it (`readelf -n`), which debuggers and
/// stores of symbols go by.
enum BuildIdentifier {
  /// Hexadecimal digits, or `none` for a program that was linked without it.
  static let text = read("/proc/self/exe") ?? "none"

  /// Reads the note of an ELF file of this machine's kind.
  static func read(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    guard let header = bytes(of: file, at: 0, count: 64), header.starts(with: [0x7f, 0x45, 0x4c, 0x46, 2, 1]) else { return nil }
    let (table, size, count) = (number(header, 32, 8), number(header, 54, 2), number(header, 56, 2))
    guard size >= 56, count <= 256, let segments = bytes(of: file, at: table, count: size * count) else { return nil }
    for index in 0..<count {
      let segment = Array(segments[(index * size)..<((index + 1) * size)])
      let length = number(segment, 32, 8)
      // PT_NOTE
      guard number(segment, 0, 4) == 4, length <= 65_536, let notes = bytes(of: file, at: number(segment, 8, 8), count: length)
      else { continue }
      if let found = identifier(in: notes) { return found }
    }
    return nil
  }

  /// Notes are a name and a description, each filled up to four bytes, behind their lengths and a type.
  private static func identifier(in notes: [UInt8]) -> String? {
    var start = 0
    while start + 12 <= notes.count {
      let (nameLength, length, type) = (number(notes, start, 4), number(notes, start + 4, 4), number(notes, start + 8, 4))
      let name = start + 12
      let description = name + (nameLength + 3) / 4 * 4
      guard description + length <= notes.count else { return nil }
      // NT_GNU_BUILD_ID
      if type == 3, notes[name..<(name + nameLength)].elementsEqual("GNU\0".utf8) {
        return notes[description..<(description + length)].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      }
      start = description + (length + 3) / 4 * 4
    }
    return nil
  }

  private static func bytes(of file: Int32, at offset: Int, count: Int) -> [UInt8]? {
    guard count > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    return pread(file, &bytes, count, offset) == count ? bytes : nil
  }

  /// Little-endian; what is too large for anything here is as large as it may be.
  private static func number(_ bytes: [UInt8], _ offset: Int, _ width: Int) -> Int {
    guard offset + width <= bytes.count else { return 0 }
    return Int(clamping: (0..<width).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[offset + $1]) })
  }
}
