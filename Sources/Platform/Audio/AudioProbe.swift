internal import JSON

/// What a file says of the recording in it.
public struct AudioFacts: Sendable, Hashable {
  /// How long it is.
  public let duration: Duration
  /// How it is coded: `aac`, `mp3`, `opus`, `pcm_s16le` …
  public let codec: String
  /// How many channels it has.
  public let channels: Int
  /// How many samples a second it has.
  public let sampleRate: Int

  /// Facts.
  ///
  /// - Parameters:
  ///   - duration: How long it is.
  ///   - codec: How it is coded.
  ///   - channels: How many channels it has.
  ///   - sampleRate: How many samples a second it has.
  public init(duration: Duration, codec: String, channels: Int, sampleRate: Int) {
    self.duration = duration
    self.codec = codec
    self.channels = channels
    self.sampleRate = sampleRate
  }
}

/// Tells what a recording is: by `ffprobe`, or by its own bytes where they are plain PCM (``WaveSound``).
public struct AudioProbe: Sendable {
  private let tools: AudioTools

  /// A probe that uses these tools.
  public init(_ tools: AudioTools) { self.tools = tools }

  /// What a file says of itself.
  ///
  /// The length of a file that does not say it (ADTS, MP3, what browsers record) is measured by decoding it.
  ///
  /// - Returns: What it says.
  /// - Throws: ``AudioError``, as ``check(_:)`` does.
  public func facts(of file: AudioFile) async throws(AudioError) -> AudioFacts {
    let said = try await description(of: file)
    var duration = said.duration
    if duration == nil { duration = try await LoudnessMeter.measure(file, with: tools, .init()).duration }
    return AudioFacts(duration: duration ?? .zero, codec: said.codec, channels: said.channels, sampleRate: said.sampleRate)
  }

  /// Refuses what is no recording by what it says of itself, without decoding it: a film, what has no sound, what is longer than allowed.
  /// A file that does not say how long it is passes.
  ///
  /// - Throws: ``AudioError``: ``AudioError/Code/hasVideo``, ``AudioError/Code/tooLong``, ``AudioError/Code/unreadable``, or why nothing can
  ///   be told.
  public func check(_ file: AudioFile) async throws(AudioError) {
    _ = try await description(of: file)
  }

  /// What a file says of itself; its length only where that can be relied on.
  private struct Description {
    let duration: Duration?
    let codec: String
    let channels: Int
    let sampleRate: Int
  }

  private func description(of file: AudioFile) async throws(AudioError) -> Description {
    if let sound = try tools.plainSound(of: file) {
      return Description(duration: sound.duration, codec: sound.codec, channels: sound.channels, sampleRate: sound.sampleRate)
    }
    return try await tools.blaming(file) { file async throws(AudioError) in try await read(file) }
  }

  private func read(_ file: AudioFile) async throws(AudioError) -> Description {
    let output = try await tools.probe(
      file,
      "stream=codec_type,codec_name,channels,sample_rate,duration:stream_disposition=attached_pic:format=duration")
    guard let document = try? JSONParser.parse(output), let streams = document["streams"]?.array else {
      throw AudioError(.unreadable, detail: "no description")
    }
    // A picture of the album is no film.
    guard !streams.contains(where: { $0["codec_type"] == "video" && $0["disposition"]?["attached_pic"]?.int64 != 1 }) else {
      throw AudioError(.hasVideo)
    }
    guard let stream = streams.first(where: { $0["codec_type"] == "audio" }), let codec = stream["codec_name"]?.string,
      let channels = stream["channels"]?.int64, channels > 0, channels <= 64,
      let rate = stream["sample_rate"]?.string.flatMap({ Int($0) }), WaveSound.sampleRates.contains(rate)
    else { throw AudioError(.unreadable, detail: "no sound") }
    let lengths = [stream["duration"], document["format"]?["duration"]]
    var duration: Duration?
    if let said = lengths.lazy.compactMap({ $0?.string.flatMap { Double($0) } }).first, file.format != .aac, file.format != .mp3 {
      guard said.isFinite, said > 0 else { throw AudioError(.unreadable, detail: "no length") }
      guard said <= tools.limits.duration / .seconds(1) else { throw AudioError(.tooLong) }
      duration = .milliseconds(Int64((said * 1000).rounded()))
    }
    return Description(duration: duration, codec: codec, channels: Int(channels), sampleRate: rate)
  }
}
