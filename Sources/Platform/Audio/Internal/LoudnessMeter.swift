internal import Glibc

/// Measures samples of 16 bits, 16,000 a second, as they come.
struct LoudnessMeter: Sendable {
  private static let sampleRate = 16_000
  /// 20 ms.
  private static let window = 320

  private let rules: SilenceRules
  private let maximumSamples: Int
  private var samples = 0
  private var soundWindows = 0
  private var loudest = 0.0
  private var peak = 0
  /// The lower byte of a sample whose upper one has not come yet.
  private var odd: UInt8?
  private var count = 0
  private var sum = 0
  private var squares = 0
  private let leastPower: Double

  init(_ rules: SilenceRules, atMost limit: Duration) {
    self.rules = rules
    maximumSamples = Int(limit / .seconds(1) * Double(Self.sampleRate))
    leastPower = pow(10, rules.threshold / 10)
  }

  /// Decodes a file and measures it.
  static func measure(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter {
    try await tools.blaming(file) { file async throws(AudioError) in try await decode(file, with: tools, rules) }
  }

  private static func decode(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter {
    // One second more than is allowed tells a recording at the limit from one beyond it.
    let meter = LoudnessMeter(rules, atMost: tools.limits.duration + .seconds(1))
    var measured: LoudnessMeter
    do throws(AudioError) {
      measured = try await tools.decode(file, into: meter) { meter, chunk in meter.take(chunk) }
    } catch {
      // Nobody but the meter refuses output.
      throw error.code == .tooExpensive && error.detail == "output_refused" ? AudioError(.tooLong) : error
    }
    guard measured.samples > 0 else { throw AudioError(.unreadable, detail: "no samples") }
    guard measured.duration <= tools.limits.duration else { throw AudioError(.tooLong) }
    measured.endWindow()
    return measured
  }

  /// Takes the next samples; false when there are more than allowed.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    if let low = odd, !bytes.isEmpty {
      take(Int16(bitPattern: UInt16(low) | UInt16(bytes[0]) << 8))
      odd = nil
      position = 1
    }
    while position + 1 < bytes.count {
      take(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: Int16.self)))
      position += 2
    }
    if position < bytes.count { odd = bytes[position] }
    return samples <= maximumSamples
  }

  private mutating func take(_ sample: Int16) {
    let value = Int(sample)
    samples += 1
    count += 1
    sum += value
    squares += value * value
    peak = max(peak, abs(value))
    if count == Self.window { endWindow() }
  }

  /// The mean is taken off: a constant offset is no sound.
  private mutating func endWindow() {
    guard count > 0 else { return }
    let mean = Double(sum) / Double(count)
    let power = max(0, Double(squares) / Double(count) - mean * mean) / (32_768 * 32_768)
    loudest = max(loudest, power)
    if count == Self.window, power >= leastPower { soundWindows += 1 }
    (count, sum, squares) = (0, 0, 0)
  }

  var duration: Duration { .microseconds(Int64(samples) * 1_000_000 / Int64(Self.sampleRate)) }

  var report: SilenceReport {
    let sound = Duration.milliseconds(20) * soundWindows
    let verdict: SilenceReport.Verdict =
      duration < rules.leastDuration ? .tooShort : sound < rules.leastSound ? .silent : .speechPossible
    return SilenceReport(
      verdict: verdict, duration: duration, sound: sound, loudest: decibels(loudest),
      peak: decibels(Double(peak) * Double(peak) / (32_768 * 32_768)))
  }

  private func decibels(_ power: Double) -> Double { power > 1e-12 ? 10 * log10(power) : -120 }
}
