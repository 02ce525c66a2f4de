/// Pieces of JSON for lines whose form is known beforehand, written into memory that has room for all of them.
struct LineWriter {
  private let memory: UnsafeMutableBufferPointer<UInt8>
  private var count = 0

  /// The most bytes that text of so many takes between its quotes.
  static func longest(_ utf8Count: Int) -> Int { utf8Count * 6 }

  private init(_ memory: UnsafeMutableBufferPointer<UInt8>) { self.memory = memory }

  /// Appends what `body` writes, at most `capacity` bytes.
  @inline(__always)
  static func append(to bytes: inout [UInt8], atMost capacity: Int, _ body: (inout LineWriter) -> Void) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { memory in
      var writer = LineWriter(memory)
      body(&writer)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: memory[..<writer.count]))
    }
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    precondition(count < memory.count, "the line is longer than was said")
    memory[count] = byte
    count += 1
  }

  @inline(__always)
  mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    precondition(bytes.count <= memory.count - count, "the line is longer than was said")
    guard let source = bytes.baseAddress else { return }
    (memory.baseAddress.unsafelyUnwrapped + count).update(from: source, count: bytes.count)
    count += bytes.count
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  @inline(__always)
  mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

  /// Text that needs no escape.
  mutating func append(plain text: String) {
    if text.utf8.withContiguousStorageIfAvailable({ append($0) }) == nil { for byte in text.utf8 { append(byte) } }
  }

  /// The text between its quotes, without them.
  mutating func append(escaped text: String) {
    // Nearly all text is as it must be: addresses and identifiers.
    let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { bytes in
      if bytes.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
        append(bytes)
      } else {
        escape(bytes)
      }
    }
    if isWritten == nil { escape(text.utf8) }
  }

  private mutating func escape(_ text: some Sequence<UInt8>) {
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        append(UInt8(ascii: "\\"))
        append(byte)
      case 0..<0x20:
        append("\\u00")
        append(Self.hexDigit(byte >> 4))
        append(Self.hexDigit(byte & 15))
      default: append(byte)
      }
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  /// A number of milliseconds with three decimals, from nanoseconds: at most 18 bytes.
  mutating func append(milliseconds nanoseconds: UInt64) {
    let microseconds = nanoseconds / 1_000
    append(microseconds / 1_000)
    append(UInt8(ascii: "."))
    append(three: microseconds % 1_000)
  }

  /// A number below a thousand with three digits.
  mutating func append(three number: UInt64) {
    append(0x30 + UInt8(truncatingIfNeeded: number / 100))
    append(0x30 + UInt8(truncatingIfNeeded: number / 10 % 10))
    append(0x30 + UInt8(truncatingIfNeeded: number % 10))
  }

  mutating func append(_ number: UInt64) {
    guard number >= 10 else { return append(0x30 + UInt8(truncatingIfNeeded: number)) }
    append(number / 10)
    append(0x30 + UInt8(truncatingIfNeeded: number % 10))
  }
}
