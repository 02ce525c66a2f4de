internal import JSON
internal import OnboardingDomain
internal import OpenAIProvider
internal import OpenID

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
    do throws(ProviderError) { return try await client.transcribe(request).text } catch { throw ProviderFailure(error) }
  }
}

/// A chat endpoint of OpenAI's kind that keeps to a schema.
struct OpenAIExtractor: IdentityExtracting {
  let client: OpenAIClient
  let model: String
  /// How much it may answer.
  let maximumTokens: Int

  func extract(_ task: ExtractionTask, key: String) async throws(ProviderFailure) -> [Conclusion] {
    var request = ChatRequest(
      model: model, messages: [.init(.system, task.instructions), .init(.user, task.material)], requestID: key)
    request.schema = ChatSchema(name: "identity", schema: Self.schema)
    request.maximumTokens = maximumTokens
    let answer: ChatAnswer
    do throws(ProviderError) { answer = try await client.chat(request) } catch { throw ProviderFailure(error) }
    switch answer.outcome {
    case .document(let document): return Self.conclusions(document)
    case .refusal: throw ProviderFailure("refused_by_model", isTemporary: false)
    case .truncated: throw ProviderFailure("answer_truncated", isTemporary: false)
    case .filtered: throw ProviderFailure("answer_filtered", isTemporary: false)
    // A model may do better the next time.
    case .malformed, .text: throw ProviderFailure("answer_malformed", isTemporary: true)
    }
  }
}

extension OpenAIExtractor {
  /// The form of the answer, as strict schemas are: every field is there, and null where nothing was said about it.
  fileprivate static let schema: JSONObject = {
    let entry: JSONValue = [
      "type": ["object", "null"], "additionalProperties": false, "required": ["value", "quote", "step"],
      "properties": ["value": ["type": "string"], "quote": ["type": "string"], "step": ["type": "integer"]],
    ]
    var properties: JSONObject = [:]
    for name in IdentityCatalogue.concluded { properties[name] = entry }
    return [
      "type": "object", "additionalProperties": false, "required": .array(IdentityCatalogue.concluded.map { .string($0) }),
      "properties": .object(properties),
    ]
  }()

  /// A server that knows no schemas may have left the form for plain text.
  fileprivate static func conclusions(_ document: JSONObject) -> [Conclusion] {
    document.compactMap { member in
      if let text = member.value.string { return Conclusion(member.name, text) }
      guard let entry = member.value.object, let value = entry["value"]?.string else { return nil }
      return Conclusion(
        member.name, value, quote: entry["quote"]?.string ?? "", step: Int(entry["step"]?.int64 ?? 0))
    }
  }
}
