internal import Glibc
internal import Subprocess

/// Measures samples of 16 bits as they come.
struct LoudnessMeter: Sendable {
  /// How many samples a second a decoder makes.
  static let decodedRate = 16_000

  private let sampleRate: Int
  /// How many samples 20 ms have.
  private let window: Int
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

  /// - Parameters:
  ///   - rules: When a recording counts as silent.
  ///   - sampleRate: How many samples a second there are, at least 1,000.
  ///   - limit: How long it may be.
  init(_ rules: SilenceRules, sampleRate: Int = decodedRate, atMost limit: Duration) {
    self.rules = rules
    self.sampleRate = sampleRate
    window = sampleRate / 50
    maximumSamples = Int(limit / .seconds(1) * Double(sampleRate))
    leastPower = pow(10, rules.threshold / 10)
  }

  /// Measures a file: by itself where it is plain PCM, decoded otherwise.
  static func measure(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter {
    if let measured = try await plain(file, with: tools, rules) { return measured }
    return try await tools.blaming(file) { file async throws(AudioError) in try await decode(file, with: tools, rules) }
  }

  /// Measures a file that is plain PCM; nil for any other.
  static func plain(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter? {
    guard let sound = try tools.plainSound(of: file) else { return nil }
    return try await tools.besideTheLoop { () throws(AudioError) -> LoudnessMeter in
      var meter = LoudnessMeter(rules, sampleRate: sound.sampleRate, atMost: tools.limits.duration)
      let isRead: Void? = file.content.withBytes { bytes in sound.forEachSample(in: bytes) { meter.take($0) } }
      guard isRead != nil else { throw AudioError(.toolFailed, detail: "no room to read the file") }
      meter.endWindow()
      return meter
    }
  }

  private static func decode(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter {
    // One second more than is allowed tells a recording at the limit from one beyond it.
    let meter = LoudnessMeter(rules, atMost: tools.limits.duration + .seconds(1))
    return try await finished(file, with: tools) { () async throws(AudioError) in
      try await tools.decode(file, into: meter) { meter, chunk in meter.take(chunk) }
    }
  }

  /// Decodes a file that may be a film, and measures it: in one run, which fails where there is a film.
  static func decodeSoundAlone(
    _ file: AudioFile, with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> LoudnessMeter {
    let meter = LoudnessMeter(rules, atMost: tools.limits.duration + .seconds(1))
    return try await finished(file, with: tools) { () async throws(AudioError) in
      try await tools.decodeSoundAlone(file, into: meter) { meter, chunk in meter.take(chunk) }
    }
  }

  /// As ``decodeSoundAlone(_:with:_:)`` for several files in one run; nil for one that only a run of its own tells of.
  static func decodeSoundsAlone(
    _ files: [AudioBytes], with tools: AudioTools, _ rules: SilenceRules
  ) async throws(AudioError) -> [LoudnessMeter?] {
    let meter = LoudnessMeter(rules, atMost: tools.limits.duration + .seconds(1))
    let meters = try await tools.decodeSoundsAlone(files, into: files.map { _ in meter }) { meter, chunk in meter.take(chunk) }
    return meters.map { measured in
      guard measured.samples > 0, measured.duration <= tools.limits.duration else { return nil }
      var measured = measured
      measured.endWindow()
      return measured
    }
  }

  private static func finished(
    _ file: AudioFile, with tools: AudioTools, _ decode: () async throws(AudioError) -> LoudnessMeter
  ) async throws(AudioError) -> LoudnessMeter {
    var measured: LoudnessMeter
    do throws(AudioError) { measured = try await decode() } catch {
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
    if count == window { endWindow() }
  }

  /// The mean is taken off: a constant offset is no sound.
  private mutating func endWindow() {
    guard count > 0 else { return }
    let mean = Double(sum) / Double(count)
    let power = max(0, Double(squares) / Double(count) - mean * mean) / (32_768 * 32_768)
    loudest = max(loudest, power)
    if count == window, power >= leastPower { soundWindows += 1 }
    (count, sum, squares) = (0, 0, 0)
  }

  var duration: Duration { .microseconds(Int64(samples) * 1_000_000 / Int64(sampleRate)) }

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
