internal import ElevenLabsProvider
internal import EventLoop
internal import OnboardingDomain
internal import OpenID

/// Voices at ElevenLabs. Each carries the key that it was asked for under, by which it is found when the answer was lost.
struct ElevenLabsVoices: VoiceCloning {
  let client: ElevenLabsClient

  private static let label = "parley_key"

  func clone(
    _ name: String, of samples: [SpokenSample], key: String, by deadline: ContinuousClock.Instant
  ) async throws(ProviderFailure) -> MadeVoice {
    do throws(ProviderError) {
      if let made = try await client.voices(labelled: Self.label, key).first {
        return MadeVoice(made.id, needsVerification: made.requiresVerification)
      }
      var voice = NewVoice(
        name: name, samples: samples.map { .init(filename: $0.filename, mediaType: $0.mediaType, bytes: $0.bytes) },
        requestID: key)
      voice.labels = [Self.label: key]
      let left = deadline - .now
      guard left > .zero else { throw ProviderError(.timeout) }
      voice.deadline = MonotonicInstant.now().advanced(by: left)
      let made = try await client.addVoice(voice)
      return MadeVoice(made.id, needsVerification: made.requiresVerification)
    } catch {
      throw ProviderFailure(error)
    }
  }

  func voices(under key: String) async throws(ProviderFailure) -> [String] {
    do throws(ProviderError) { return try await client.voices(labelled: Self.label, key).map(\.id) } catch {
      throw ProviderFailure(error)
    }
  }

  func delete(_ voice: String) async throws(ProviderFailure) {
    do throws(ProviderError) { _ = try await client.deleteVoice(voice) } catch { throw ProviderFailure(error) }
  }
}
