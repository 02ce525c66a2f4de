import Glibc

/// Ends the process with a message when an invariant does not hold; libFuzzer keeps the input.
func require(
  _ condition: Bool, _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
) {
  guard !condition else { return }
  say("\nFINDING: \(what()) (\(file):\(line))")
  abort()
}

/// The value, or the end of the process: for what can fail only if the code under test is wrong.
func expect<Value>(
  _ what: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> Value
) -> Value {
  do { return try body() } catch {
    say("\nFINDING: \(what()): \(error) (\(file):\(line))")
    abort()
  }
}

/// Writes a line where libFuzzer writes its own.
func say(_ text: String) {
  var line = text + "\n"
  line.withUTF8 { _ = write(2, $0.baseAddress, $0.count) }
}

extension UnsafeRawBufferPointer {
  /// The bytes from `offset` on.
  func from(_ offset: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: self[Swift.min(offset, count)...])
  }

  /// The bytes up to the first `separator`, and those behind it.
  func split(at separator: UInt8) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    guard let index = firstIndex(of: separator) else { return (self, UnsafeRawBufferPointer(start: nil, count: 0)) }
    return (UnsafeRawBufferPointer(rebasing: self[..<index]), UnsafeRawBufferPointer(rebasing: self[(index + 1)...]))
  }

  /// The bytes, copied.
  var array: [UInt8] { [UInt8](self) }
}
