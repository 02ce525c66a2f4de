internal import JSON
internal import Multipart
public import OpenID
internal import Outbound

extension OpenAIClient {
  /// The words of a recording.
  ///
  /// - Throws: ``OpenID/ProviderError``; with ``OpenID/ProviderError/Code/tooLarge`` or
  ///   ``OpenID/ProviderError/Code/invalidRequest`` before anything is sent when the form with the recording is larger than the
  ///   setting allows, or the recording empty.
  public func transcribe(_ request: TranscriptionRequest) async throws(ProviderError) -> Transcription {
    guard request.audio.count <= settings.maximumUploadSize else { throw ProviderError(.tooLarge) }
    guard !request.audio.isEmpty else { throw ProviderError(.invalidRequest, reason: "empty") }
    var form = MultipartForm()
    form.addField("model", request.model)
    form.addField("response_format", (request.format ?? (settings.isVerbose(request.model) ? .verboseJSON : .json)).rawValue)
    if let language = request.language { form.addField("language", language) }
    if let prompt = request.prompt { form.addField("prompt", prompt) }
    if let temperature = request.temperature { form.addField("temperature", "\(temperature)") }
    // Last, so that a server that reads as it receives knows what to do with it.
    form.addFile("file", filename: request.filename, mediaType: request.mediaType, request.audio)
    let content = form.encoded()
    guard content.body.count <= settings.maximumUploadSize else { throw ProviderError(.tooLarge) }
    let response = try await post(
      content.body, content.contentType, to: settings.transcriptionPath, requestID: request.requestID,
      timeout: request.timeout ?? settings.transcriptionTimeout, deadline: request.deadline, maximumResponseSize: 8 << 20)
    guard let transcription = Transcription(response, model: request.model) else {
      throw .malformed(response, "no_transcript")
    }
    return transcription
  }
}

extension Transcription {
  /// Reads an answer, leniently but for its text: servers differ in all the rest. whisper.cpp says that its JSON is HTML.
  init?(_ response: HTTPResponse, model: String) {
    guard let document = try? JSONParser.parse(response.body), let text = document["text"]?.string else { return nil }
    self.text = text.withoutBlanksAround
    language = document["language"]?.string
    duration = document["duration"].flatMap(Self.time)
    segments = (document["segments"]?.array ?? []).compactMap { segment in
      guard let text = segment["text"]?.string, let start = segment["start"].flatMap(Self.time),
        let end = segment["end"].flatMap(Self.time)
      else { return nil }
      return Segment(
        start: start, end: end, text: text.withoutBlanksAround, noSpeechProbability: segment["no_speech_prob"]?.number?.double,
        averageLogProbability: segment["avg_logprob"]?.number?.double)
    }
    usage =
      switch document["usage"]?["type"]?.string {
      case "duration": document["usage"]?["seconds"]?.number?.double.map { .duration(seconds: $0) }
      case "tokens":
        .tokens(
          input: Int(document["usage"]?["input_tokens"]?.int64 ?? 0), output: Int(document["usage"]?["output_tokens"]?.int64 ?? 0)
        )
      default: nil
      }
    self.model = model
    requestID = response.requestID
  }

  /// Seconds: a number, or in old versions a text.
  private static func time(_ value: JSONValue) -> Duration? {
    guard let seconds = value.number?.double ?? value.string.flatMap({ Double($0) }), (0...1e9).contains(seconds) else {
      return nil
    }
    // As a number of binary digits, 8.47 would be no time that anybody can tell.
    return .milliseconds(Int64((seconds * 1000).rounded()))
  }
}

extension String {
  /// Without white space at both ends: local servers begin with a blank and end with a line end.
  fileprivate var withoutBlanksAround: String {
    let rest = drop(while: \.isWhitespace)
    guard let last = rest.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(rest[...last])
  }
}
