/// Which OpenAI-compatible server is asked, and what it can do.
///
/// The defaults are those of OpenAI itself; whisper.cpp, vLLM, Ollama and llama.cpp differ from it in what can be set here.
public struct OpenAISettings: Sendable {
  /// How a chat is asked to answer in JSON.
  public enum StructuredOutput: Sendable, Hashable {
    /// By `json_schema`, strict: the server holds the model to the schema.
    case jsonSchema
    /// By `json_object`, with the schema in words before the messages: for servers that do not know `json_schema`.
    case jsonObject
  }

  /// What the limit on a chat's answer is called.
  public enum TokenLimit: String, Sendable, Hashable {
    /// OpenAI's name of today.
    case maxCompletionTokens = "max_completion_tokens"
    /// The older name, which is the one that most other servers know.
    case maxTokens = "max_tokens"
  }

  /// Where the API is, with its version: `https://api.openai.com/v1`.
  public let base: String
  /// The key, sent as bearer token and shown nowhere; a server without keys is sent a word in its place.
  let key: String
  /// How a chat is asked to answer in JSON.
  public var structuredOutput = StructuredOutput.jsonSchema
  /// What the limit on a chat's answer is called.
  public var tokenLimit = TokenLimit.maxCompletionTokens
  /// Whether the server tells segments and duration of a recording (`verbose_json`); nil: as the model's name says, since OpenAI's
  /// newer models do not.
  public var verboseTranscriptions: Bool?
  /// Where recordings go, after ``base``.
  public var transcriptionPath = "/audio/transcriptions"
  /// Where chats go, after ``base``.
  public var chatPath = "/chat/completions"
  /// One more header field that is to carry a request's id, for a server that knows repeated requests by it. OpenAI does not.
  public var idempotencyHeader: String?
  /// The largest form with a recording, in bytes: servers count all that they are sent. A larger one is not.
  public var maximumUploadSize = 25 << 20
  /// How long a transcription may take, unless its request says otherwise.
  public var transcriptionTimeout = Duration.seconds(120)
  /// How long a chat may take, unless its request says otherwise.
  public var chatTimeout = Duration.seconds(120)

  /// Settings for one server.
  ///
  /// - Parameters:
  ///   - base: Where the API is, with its version: `https://api.openai.com/v1`.
  ///   - key: The key; empty for a server without keys.
  public init(base: String, key: String) {
    self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    self.key = key
  }

  /// Whether `model` is asked for `verbose_json`.
  func isVerbose(_ model: String) -> Bool {
    // gpt-4o-transcribe and its kin refuse it; whisper-1 and the names of Whisper's weights elsewhere know it.
    verboseTranscriptions ?? model.lowercased().contains("whisper")
  }
}
