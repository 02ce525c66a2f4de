internal import JSON
internal import OnboardingDomain
internal import OpenAIProvider

/// A transcription endpoint of OpenAI's kind.
struct OpenAITranscriber: Transcribing {
  let client: OpenAIClient
  let model: String
  /// The language spoken, of ISO 639-1; nil to let the model hear.
  let language: String?

  func transcribe(_ sample: SpokenSample, key: String) async throws(ProviderFailure) -> String {
    var request = TranscriptionRequest(
      model: model, audio: sample.bytes, filename: sample.filename, mediaType: sample.mediaType, requestID: key)
    request.language = language
    do throws(OpenAIError) { return try await client.transcribe(request).text } catch { throw ProviderFailure(error) }
  }
}

/// A chat endpoint of OpenAI's kind that keeps to a schema.
struct OpenAIExtractor: IdentityExtracting {
  let client: OpenAIClient
  let model: String

  func extract(_ task: ExtractionTask, key: String) async throws(ProviderFailure) -> JSONObject {
    var request = ChatRequest(
      model: model, messages: [.init(.system, task.instructions), .init(.user, task.material)], requestID: key)
    guard let schema = task.schema.object else { throw ProviderFailure("no_schema", isTemporary: false) }
    request.schema = ChatSchema(name: "identity", schema: schema)
    request.maximumTokens = 8_000
    let answer: ChatAnswer
    do throws(OpenAIError) { answer = try await client.chat(request) } catch { throw ProviderFailure(error) }
    switch answer.outcome {
    case .document(let document): return document
    case .refusal: throw ProviderFailure("refused_by_model", isTemporary: false)
    case .truncated: throw ProviderFailure("answer_truncated", isTemporary: false)
    case .filtered: throw ProviderFailure("answer_filtered", isTemporary: false)
    // A model may do better the next time.
    case .malformed, .text: throw ProviderFailure("answer_malformed", isTemporary: true)
    }
  }
}

extension ProviderFailure {
  init(_ error: OpenAIError) {
    self.init(error.code.description, isTemporary: !error.isPermanent, retryAfter: error.retryAfter, error.description)
  }
}
