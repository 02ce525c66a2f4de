import Foundation

/// Small recordings that need no microphone: a tone, 8-bit mono PCM at 8 kHz, as a WAV file.
public enum WAVTone {
  static let samplesPerSecond = 8_000
  private static let headBytes = 44

  /// A tone.
  ///
  /// - Parameters:
  ///   - seconds: How long it is.
  ///   - frequency: How high it is, in hertz.
  /// - Returns: The bytes of the file, 8,000 for each second and a head of 44.
  public static func bytes(seconds: Double, frequency: Double = 440) -> [UInt8] {
    let count = Int((max(0, seconds) * Double(samplesPerSecond)).rounded(.up))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(headBytes + count)
    func append(_ text: String) { bytes += Array(text.utf8) }
    func append(_ value: Int, _ width: Int) {
      for place in 0..<width { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
    }
    append("RIFF")
    append(headBytes - 8 + count, 4)
    append("WAVEfmt ")
    append(16, 4)
    // PCM, one channel, 8,000 samples and as many bytes a second, one byte each, 8 bits.
    for (value, width) in [(1, 2), (1, 2), (samplesPerSecond, 4), (samplesPerSecond, 4), (1, 2), (8, 2)] { append(value, width) }
    append("data")
    append(count, 4)
    let step = 2 * Double.pi * frequency / Double(samplesPerSecond)
    for index in 0..<count { bytes.append(UInt8(128 + 80 * sin(step * Double(index)))) }
    return bytes
  }

  /// How long a WAV file is by its head, in seconds; nil for anything else.
  public static func duration(of bytes: [UInt8]) -> Double? {
    func number(_ place: Int, _ width: Int) -> Int {
      (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
    }
    guard bytes.count >= headBytes, bytes.starts(with: Array("RIFF".utf8)), bytes[8...].starts(with: Array("WAVE".utf8)) else {
      return nil
    }
    var (place, rate) = (12, 0)
    while place + 8 <= bytes.count {
      let (name, size) = (bytes[place..<place + 4], number(place + 4, 4))
      if name.elementsEqual("fmt ".utf8), size >= 16, place + 24 <= bytes.count { rate = number(place + 16, 4) }
      if name.elementsEqual("data".utf8) {
        return rate > 0 ? Double(min(size, bytes.count - place - 8)) / Double(rate) : nil
      }
      place += 8 + size + size % 2
    }
    return nil
  }
}
