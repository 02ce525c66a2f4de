import JSON
import Multipart
import OpenAIProvider
import OpenID
import Outbound
import TestSandbox
import Testing

@Suite("OpenAI: what is asked, and what is read") struct OpenAIRequestTests {
  private static let chat = """
    {"id":"c","model":"gpt-4o-2024","choices":[{"index":0,"message":{"role":"assistant","content":"{\\"name\\":\\"Ana\\"}","refusal":null},
    "finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":3,"total_tokens":23,
    "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":1}}}
    """

  private static func request(_ schema: ChatSchema? = nil) -> ChatRequest {
    var request = ChatRequest(model: "gpt-4o", messages: [.init(.system, "be kind"), .init(.user, "who?")], requestID: "r-1")
    request.schema = schema
    request.maximumTokens = 500
    request.temperature = 0
    request.seed = 7
    return request
  }

  private static func settings(_ change: (inout OpenAISettings) -> Void = { _ in }) -> OpenAISettings {
    var settings = OpenAISettings(base: "https://ai.example/v1/", key: "sk-planted")
    change(&settings)
    return settings
  }

  private static let schema = ChatSchema(
    name: "person", schema: ["type": "object", "properties": ["name": ["type": "string"]], "required": ["name"]])

  @Test("A chat goes out with its schema, strict, and its answer comes back parsed, with what it cost")
  func strict() async throws {
    let http = ScriptedHTTP(200, Self.chat, headers: ["X-Request-Id": "req_9"])
    let answer = try await OpenAIClient(Self.settings(), over: http).chat(Self.request(Self.schema))
    #expect(answer.outcome == .document(["name": "Ana"]) && answer.finishReason == "stop" && answer.model == "gpt-4o-2024")
    #expect(answer.usage?.promptTokens == 20 && answer.usage?.completionTokens == 3 && answer.requestID == "req_9")
    #expect(answer.usage?.cachedTokens == 8 && answer.usage?.reasoningTokens == 1)
    let request = try #require(http.requests.first)
    #expect(request.url == "https://ai.example/v1/chat/completions" && request.method == .post)
    #expect(request.headers["authorization"] == "Bearer sk-planted" && request.headers["x-client-request-id"] == "r-1")
    #expect(!request.mayBeRepeated && request.retry == RetryPolicy.never && request.timeout == .seconds(120))
    let body = try JSONParser.parse(request.body ?? [])
    #expect(body["response_format"]?["type"] == "json_schema" && body["response_format"]?["json_schema"]?["strict"] == true)
    #expect(body["response_format"]?["json_schema"]?["schema"]?["required"] == ["name"])
    #expect(body["max_completion_tokens"] == 500 && body["max_tokens"] == nil && body["seed"] == 7)
    #expect(body["temperature"]?.number?.double == 0)
    #expect(body["messages"] == [["role": "system", "content": "be kind"], ["role": "user", "content": "who?"]])
  }

  @Test("A server that knows no schemas is told of it in words, and asked by the names that it knows")
  func fallback() async throws {
    let http = ScriptedHTTP(200, Self.chat)
    let settings = Self.settings {
      $0.structuredOutput = .jsonObject
      $0.tokenLimit = .maxTokens
      $0.idempotencyHeader = "Idempotency-Key"
      $0.chatPath = "/chat"
    }
    var request = Self.request(Self.schema)
    request.timeout = .seconds(5)
    let answer = try await OpenAIClient(settings, over: http).chat(request)
    #expect(answer.outcome == .document(["name": "Ana"]))
    let sent = try #require(http.requests.first)
    #expect(sent.url == "https://ai.example/v1/chat" && sent.headers["idempotency-key"] == "r-1" && sent.timeout == .seconds(5))
    let body = try JSONParser.parse(sent.body ?? [])
    #expect(
      body["response_format"] == ["type": "json_object"] && body["max_tokens"] == 500 && body["max_completion_tokens"] == nil)
    let told = try #require(body["messages"]?.array?.first?["content"]?.string)
    #expect(
      told.contains("JSON") && told.hasSuffix(#"{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}"#))
    #expect(body["messages"]?.array?.count == 3)
  }

  @Test(
    "However an answer ended, it says so",
    arguments: [
      (#"{"content":null,"refusal":"I will not."}"#, "stop", .refusal("I will not.")),
      (#"{"content":"{\"na"}"#, "length", .truncated),
      (#"{"content":""}"#, "content_filter", .filtered), (#"{"content":"no JSON"}"#, "stop", .malformed),
      (#"{"content":"[1]"}"#, "stop", .malformed), (#"{"content":null}"#, "stop", .malformed),
      (#"{"content":"{\"a\":1}","refusal":""}"#, "", .document(["a": 1])),
      (#"{"content":"\n```json\n{\"a\":1}\n```\n"}"#, "stop", .document(["a": 1])),
      (#"{"content":"```\n{\"a\":1}"}"#, "stop", .malformed),
    ] as [(String, String, ChatAnswer.Outcome)])
  func outcomes(message: String, finishReason: String, outcome: ChatAnswer.Outcome) async throws {
    let http = ScriptedHTTP(200, #"{"choices":[{"message":\#(message),"finish_reason":"\#(finishReason)"}]}"#)
    let answer = try await OpenAIClient(Self.settings(), over: http).chat(Self.request(Self.schema))
    #expect(answer.outcome == outcome && answer.usage == nil && answer.model == "gpt-4o" && answer.requestID == nil)
  }

  @Test("Without a schema the text is the answer, as it came")
  func text() async throws {
    let http = ScriptedHTTP(200, #"{"choices":[{"message":{"content":" {\"a\":1} "},"finish_reason":null}]}"#)
    let answer = try await OpenAIClient(Self.settings(), over: http).chat(Self.request())
    #expect(answer.outcome == .text(" {\"a\":1} ") && answer.finishReason == "")
    #expect(try JSONParser.parse(http.requests[0].body ?? [])["response_format"] == nil)
  }

  @Test(
    "A recording goes out as a form, and as much is asked for as the model can tell",
    arguments: [
      ("whisper-1", nil, nil, "verbose_json"), ("Systran/faster-whisper-small", nil, nil, "verbose_json"),
      ("gpt-4o-transcribe", nil, nil, "json"), ("whisper-1", false, nil, "json"), ("parakeet", true, nil, "verbose_json"),
      ("whisper-1", nil, .json, "json"), ("gpt-4o-transcribe", nil, .verboseJSON, "verbose_json"),
    ] as [(String, Bool?, TranscriptionRequest.Format?, String)])
  func form(model: String, verbose: Bool?, format: TranscriptionRequest.Format?, expected: String) async throws {
    let http = ScriptedHTTP(200, #"{"text":" hello there\n"}"#)
    let settings = Self.settings { $0.verboseTranscriptions = verbose }
    var request = TranscriptionRequest(
      model: model, audio: [0, 1, 2], filename: "step \"5\".m4a", mediaType: "audio/mp4", requestID: "r-2")
    request.language = "en"
    request.prompt = "Ana, Parley"
    request.temperature = 0.5
    request.format = format
    let transcription = try await OpenAIClient(settings, over: http).transcribe(request)
    #expect(transcription.text == "hello there" && transcription.segments.isEmpty && transcription.usage == nil)
    let sent = try #require(http.requests.first)
    #expect(sent.url == "https://ai.example/v1/audio/transcriptions" && sent.headers["x-client-request-id"] == "r-2")
    let body = try MultipartBody(parsing: sent.body ?? [], contentType: sent.headers["content-type"] ?? "")
    #expect(body.parts.map(\.name) == ["model", "response_format", "language", "prompt", "temperature", "file"])
    #expect(body["model"]?.text == model && body["response_format"]?.text == expected && body["temperature"]?.text == "0.5")
    let file = try #require(body["file"])
    #expect(file.filename == "step \"5\".m4a" && file.mediaType == "audio/mp4" && Array(file.bytes) == [0, 1, 2])
  }

  @Test("Everything that a server tells of a recording is read, in each of the forms that servers have")
  func verbose() async throws {
    let body = """
      {"task":"transcribe","language":"english","duration":"8.47","text":"\\u00a0hello  there ","segments":[
      {"id":0,"start":0.0,"end":4.5,"text":" hello","avg_logprob":-0.25,"no_speech_prob":0.01},{"start":4.5,"end":8.47,"text":"there"},
      {"text":"no times"}],"usage":{"type":"duration","seconds":9}}
      """
    let client = OpenAIClient(Self.settings(), over: ScriptedHTTP(200, body))
    let request = TranscriptionRequest(model: "whisper-1", audio: [1], filename: "a.wav", mediaType: "audio/wav", requestID: "r")
    let transcription = try await client.transcribe(request)
    #expect(transcription.text == "hello  there" && transcription.language == "english")
    #expect(transcription.duration == .milliseconds(8470) && transcription.usage == .duration(seconds: 9))
    #expect(transcription.segments.map(\.text) == ["hello", "there"] && transcription.segments[0].end == .milliseconds(4500))
    #expect(transcription.segments[0].noSpeechProbability == 0.01 && transcription.segments[0].averageLogProbability == -0.25)
    #expect(transcription.segments[1].noSpeechProbability == nil)
    let tokens = #"{"text":"","duration":8.5,"usage":{"type":"tokens","input_tokens":14,"output_tokens":2}}"#
    let other = try await OpenAIClient(Self.settings(), over: ScriptedHTTP(200, tokens)).transcribe(request)
    #expect(other.text == "" && other.usage == .tokens(input: 14, output: 2) && other.duration == .milliseconds(8500))
  }

  @Test("A form at the limit is sent with its recording; one byte more of it, and no recording at all, are not")
  func limits() async throws {
    let probe = ScriptedHTTP(200, #"{"text":"x"}"#)
    _ = try await OpenAIClient(Self.settings(), over: probe).transcribe(
      .init(model: "m", audio: [UInt8](repeating: 1, count: 1000), filename: "a.wav", mediaType: "audio/wav", requestID: "r"))
    let whole = try #require(probe.requests.first?.body).count
    let settings = Self.settings { $0.maximumUploadSize = whole }
    for (size, code) in [(1000, nil), (1001, .tooLarge), (0, .invalidRequest)] as [(Int, ProviderError.Code?)] {
      let http = ScriptedHTTP(200, #"{"text":"x"}"#)
      let client = OpenAIClient(settings, over: http)
      let request = TranscriptionRequest(
        model: "m", audio: [UInt8](repeating: 1, count: size), filename: "a.wav", mediaType: "audio/wav", requestID: "r")
      if let code {
        let error = await #expect(throws: ProviderError.self) { try await client.transcribe(request) }
        #expect(error?.code == code && error?.isPermanent == true && error?.mayHaveTakenEffect == false && http.requests.isEmpty)
      } else {
        #expect(try await client.transcribe(request).text == "x")
      }
    }
  }

  @Test("A server without keys is sent a word in the key's place")
  func keyless() async throws {
    let http = ScriptedHTTP(200, Self.chat)
    _ = try await OpenAIClient(OpenAISettings(base: "http://127.0.0.1:11434/v1", key: ""), over: http).chat(Self.request())
    #expect(http.requests[0].headers["authorization"] == "Bearer none")
  }
}
