/// The samples of several files in the one output of a decoder, an AVI file without films: 16 bits each, one channel per file.
///
/// An AVI file names its stream before each piece, and says in its first bytes how many there are. What is not as expected ends the run, so
/// that nothing is taken for samples that is none.
struct SeparatedSounds<Result: Sendable>: Sendable {
  /// What is made of each file's samples.
  private(set) var results: [Result]

  /// The beginning that says how many streams there are, up to that number.
  private static var beginning: Int { 60 }

  private var hasBegun = false
  private var isWithinPieces = false
  /// The beginning of the file or of a chunk, as far as it has come.
  private var head: [UInt8] = []
  /// How many bytes of a chunk are still to come, and whose they are; nobody's where they are no samples.
  private var (left, stream): (Int, Int?) = (0, nil)
  /// Whether a byte follows that makes the chunk even.
  private var isOdd = false

  init(_ results: [Result]) { self.results = results }

  /// Takes the next bytes; false where they are not as expected, or where `read` wants no more of a file.
  mutating func take(
    _ bytes: UnsafeRawBufferPointer, _ read: (inout Result, UnsafeRawBufferPointer) -> Bool
  ) -> Bool {
    var place = 0
    while place < bytes.count {
      if left > 0 {
        let count = min(left, bytes.count - place)
        if let stream, !read(&results[stream], UnsafeRawBufferPointer(rebasing: bytes[place..<place + count])) { return false }
        (left, place) = (left - count, place + count)
        if left == 0, isOdd { (left, stream, isOdd) = (1, nil, false) }
        continue
      }
      head.append(bytes[place])
      place += 1
      guard head.count == wanted else { continue }
      guard hasBegun ? beginChunk() : begin() else { return false }
    }
    return true
  }

  /// How many bytes of a head tell enough.
  private var wanted: Int {
    guard hasBegun else { return Self.beginning }
    return head.count >= 8 && head[0..<4].elementsEqual("LIST".utf8) ? 12 : max(8, head.count)
  }

  private mutating func begin() -> Bool {
    guard head[0..<4].elementsEqual("RIFF".utf8), head[8..<16].elementsEqual("AVI LIST".utf8),
      head[20..<28].elementsEqual("hdrlavih".utf8), number(56) == results.count
    else { return false }
    let end = 20 + number(16)
    guard end >= Self.beginning, end < 1 << 20 else { return false }
    (hasBegun, left, stream, head) = (true, end - Self.beginning, nil, [])
    return true
  }

  private mutating func beginChunk() -> Bool {
    defer { head = [] }
    let size = number(4)
    if head.count == 12, head[8..<12].elementsEqual("movi".utf8) {
      isWithinPieces = true
      return true
    }
    stream = nil
    if isWithinPieces, head[2..<4].elementsEqual("wb".utf8) {
      let digits = (Int(head[0]) - 48, Int(head[1]) - 48)
      let number = digits.0 * 10 + digits.1
      guard (0...9).contains(digits.0), (0...9).contains(digits.1), results.indices.contains(number) else { return false }
      stream = number
    } else {
      // Padding and descriptions; but no film, and nothing of a second file.
      guard ["LIST", "JUNK", "idx1"].contains(where: { head[0..<4].elementsEqual($0.utf8) }) else { return false }
    }
    guard size < 1 << 30, size >= head.count - 8 else { return false }
    (left, isOdd) = (size - (head.count - 8), size % 2 == 1)
    if left == 0, isOdd { (left, isOdd) = (1, false) }
    return true
  }

  /// The number in four bytes of the head, the lowest first.
  private func number(_ place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(head[place + $1]) << (8 * $1) } }
}
