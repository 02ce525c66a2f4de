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

/// Asks `ffprobe` what a recording is.
public struct AudioProbe: Sendable {
  private let tools: AudioTools

  /// A probe that uses these tools.
  public init(_ tools: AudioTools) { self.tools = tools }

  /// What a file says of itself.
  ///
  /// The length of a file that does not say it (ADTS, MP3, what browsers record) is measured by decoding it.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - format: What its bytes are: ``AudioFormat/sniffed(from:)``.
  public func facts(of bytes: [UInt8], as format: AudioFormat) async throws(AudioError) -> AudioFacts {
    let output = try await tools.probe(
      bytes, as: format,
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
      let rate = stream["sample_rate"]?.string.flatMap({ Int($0) }), (1000...768_000).contains(rate)
    else { throw AudioError(.unreadable, detail: "no sound") }
    let said = [stream["duration"], document["format"]?["duration"]].lazy.compactMap { $0?.string.flatMap { Double($0) } }.first
    let duration: Duration
    if let said, format != .aac, format != .mp3 {
      guard said.isFinite, said > 0 else { throw AudioError(.unreadable, detail: "no length") }
      guard said <= tools.limits.duration / .seconds(1) else { throw AudioError(.tooLong) }
      duration = .milliseconds(Int64((said * 1000).rounded()))
    } else {
      duration = try await LoudnessMeter.measure(bytes, as: format, with: tools, .init()).duration
    }
    return AudioFacts(duration: duration, codec: codec, channels: Int(channels), sampleRate: rate)
  }
}
