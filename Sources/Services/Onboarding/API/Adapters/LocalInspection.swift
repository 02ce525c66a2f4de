internal import Audio
internal import OnboardingDomain

/// Recordings looked at on this machine: plain PCM by this process, everything else by ffmpeg, and by ffprobe where that tells why.
struct LocalInspection: RecordingInspecting {
  private let tools: AudioTools
  private let gate: SilenceGate

  init(_ tools: AudioTools) {
    self.tools = tools
    gate = SilenceGate(tools)
  }

  func inspect(_ sample: SpokenSample) async throws(ProviderFailure) -> RecordingFacts {
    guard let format = AudioFormat.sniffed(from: sample.bytes) else {
      throw ProviderFailure("audio_unknown_format", isTemporary: false)
    }
    let report: SilenceReport
    do throws(AudioError) {
      // The sound of a film would be heard as that of a recording.
      report = try await gate.inspect(try AudioFile(sample.bytes, as: format))
    } catch { throw ProviderFailure(error) }
    return Self.facts(report)
  }

  func inspect(together samples: [SpokenSample]) async -> [RecordingFacts?] {
    var facts = [RecordingFacts?](repeating: nil, count: samples.count)
    let known = samples.indices.compactMap { index in
      AudioFormat.sniffed(from: samples[index].bytes).map { (index: index, bytes: AudioBytes(samples[index].bytes, as: $0)) }
    }
    for (known, report) in zip(known, await gate.inspect(together: known.map(\.bytes))) {
      facts[known.index] = report.map { Self.facts($0) }
    }
    return facts
  }

  private static func facts(_ report: SilenceReport) -> RecordingFacts {
    let loudness: RecordingFacts.Loudness =
      switch report.verdict {
      case .silent: .silent
      case .tooShort: .tooShort
      case .speechPossible: .speechPossible
      }
    return RecordingFacts(duration: report.duration, loudness: loudness)
  }

  func sendable(_ sample: SpokenSample) async throws(ProviderFailure) -> SpokenSample {
    guard AudioFormat.sniffed(from: sample.bytes) == .aac else { return sample }
    let format = AudioFormat.m4a
    do throws(AudioError) {
      let bytes = try await tools.repacked(try AudioFile(sample.bytes, as: .aac))
      return SpokenSample(filename: "recording.\(format.fileExtension)", mediaType: format.mediaType, bytes: bytes)
    } catch { throw ProviderFailure(error) }
  }
}
