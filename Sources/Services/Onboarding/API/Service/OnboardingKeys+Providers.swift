public import ServiceKit

extension OnboardingKeys {
  // MARK: Both of OpenAI's kind

  /// Who writes recordings down and understands answers.
  public static let openAIBase = ConfigurationKey<String?>(
    optional: "openai.baseUrl", check: isURL,
    "An OpenAI-compatible API: https://api.openai.com/v1, or that of vLLM, Ollama …; for recordings and answers, unless either has its own."
  )
  /// Its key.
  public static let openAIKey = ConfigurationKey<String?>(
    optional: "openai.apiKey", isSecret: true, aliases: ["OPENAI_API_KEY"], "Its key; servers of one's own may need none.")
  /// The name of a header.
  public static let idempotencyHeader = ConfigurationKey<String?>(
    optional: "openai.idempotencyHeader",
    "A header that names each request, for gateways that answer a repeated one without paying twice; OpenAI itself has none.")

  // MARK: Writing down

  /// Who writes recordings down, where that is somebody else.
  public static let transcriptionBase = ConfigurationKey<String?>(
    optional: "transcription.baseUrl", check: isURL,
    "Who writes recordings down, where it is not openai.baseUrl: a Whisper server, speaches, vLLM.")
  /// Its key.
  public static let transcriptionKey = ConfigurationKey<String?>(
    optional: "transcription.apiKey", isSecret: true,
    "The key for recordings; where transcription.baseUrl is given, openai.apiKey is not sent there.")
  /// Where recordings go.
  public static let transcriptionPath = ConfigurationKey<String>(
    "transcription.path", default: "/audio/transcriptions", check: isPath,
    "Where recordings go, after the base; /inference for whisper.cpp.")
  /// What writes recordings down.
  public static let transcriptionModel = ConfigurationKey<String>(
    "transcription.model", default: "whisper-1", "The model that writes recordings down.")
  /// What is spoken.
  public static let transcriptionLanguage = ConfigurationKey<String?>(
    optional: "transcription.language",
    "The language that is spoken (ISO 639-1, or auto for whisper.cpp, which takes it for English); heard by the model otherwise.")
  /// How much is asked for.
  public static let transcriptionFormat = ConfigurationKey<String>(
    "transcription.format", default: "auto", check: isOne(of: ["auto", "json", "verbose_json"]),
    "The form of the answer: json, verbose_json, or auto, which is verbose_json of models that are called whisper.")
  /// How much is sent at once.
  public static let transcriptionRequestBytes = ConfigurationKey<Int>(
    "transcription.maxRequestBytes", default: 25 << 20, in: (64 << 10)...(1 << 30),
    "The largest request with a recording that is sent, in bytes, the form around it included.")
  /// How long it may take.
  public static let transcriptionTimeout = ConfigurationKey<Duration>(
    "transcription.timeout", default: .seconds(120), in: .seconds(1)...(.seconds(600)),
    "How long one recording may take to be written down.")

  // MARK: Understanding

  /// Who understands answers, where that is somebody else.
  public static let extractionBase = ConfigurationKey<String?>(
    optional: "extraction.baseUrl", check: isURL,
    "Who understands answers, where it is not openai.baseUrl: vLLM, Ollama, llama.cpp.")
  /// Its key.
  public static let extractionKey = ConfigurationKey<String?>(
    optional: "extraction.apiKey", isSecret: true,
    "The key for answers; where extraction.baseUrl is given, openai.apiKey is not sent there.")
  /// Where chats go.
  public static let extractionPath = ConfigurationKey<String>(
    "extraction.path", default: "/chat/completions", check: isPath, "Where answers go to be understood, after the base.")
  /// What understands answers.
  public static let extractionModel = ConfigurationKey<String>(
    "extraction.model", default: "gpt-4o-mini", "The model that understands answers.")
  /// How the model is held to a form.
  public static let structuredOutput = ConfigurationKey<String>(
    "extraction.output", default: "json_schema", check: isOne(of: ["json_schema", "json_object"]),
    "How the model is held to a form: json_schema, or json_object for servers that do not know it.")
  /// What the limit is called.
  public static let tokenLimit = ConfigurationKey<String>(
    "extraction.tokenLimit", default: "max_completion_tokens", check: isOne(of: ["max_completion_tokens", "max_tokens"]),
    "What the limit on what the model answers is called: max_completion_tokens, or max_tokens for most servers but OpenAI.")
  /// How much the model may answer.
  public static let maximumTokens = ConfigurationKey<Int>(
    "extraction.maxTokens", default: 8_000, in: 256...1_000_000,
    "How much the model may answer, in tokens; less than its context, of which servers of one's own may have little.")
  /// How long it may take.
  public static let extractionTimeout = ConfigurationKey<Duration>(
    "extraction.timeout", default: .seconds(120), in: .seconds(1)...(.seconds(600)),
    "How long all answers of a person may take to be understood.")

  // MARK: Voices

  /// Who makes voices.
  public static let elevenLabsBase = ConfigurationKey<String?>(
    optional: "elevenlabs.baseUrl", check: isURL, "ElevenLabs: https://api.elevenlabs.io.")
  /// Its key.
  public static let elevenLabsKey = ConfigurationKey<String?>(
    optional: "elevenlabs.apiKey", isSecret: true, aliases: ["ELEVENLABS_API_KEY"], "Its key.")

  /// The keys of providers, in the order of documentation.
  static let providers: [any ConfigurationKeyDeclaration] = [
    openAIBase, openAIKey, idempotencyHeader, transcriptionBase, transcriptionKey, transcriptionPath, transcriptionModel,
    transcriptionLanguage, transcriptionFormat, transcriptionRequestBytes, transcriptionTimeout, extractionBase, extractionKey,
    extractionPath, extractionModel, structuredOutput, tokenLimit, maximumTokens, extractionTimeout, elevenLabsBase,
    elevenLabsKey,
  ]

  /// What is the matter with them together.
  static func providerFindings(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = []
    if settings[openAIBase] == nil {
      switch (settings[transcriptionBase], settings[extractionBase]) {
      case (nil, nil):
        findings.append(.warning(openAIBase, "not given: recordings are kept and wait to be written down and understood"))
      case (nil, _?):
        findings.append(
          .warning(transcriptionBase, "not given, nor openai.baseUrl: recordings are kept and wait to be written down"))
      case (_?, nil):
        findings.append(.warning(extractionBase, "not given, nor openai.baseUrl: answers are kept and wait to be understood"))
      case (_?, _?): break
      }
    }
    if settings[elevenLabsBase] == nil {
      findings.append(.warning(elevenLabsBase, "not given: no voices are made"))
    } else if settings[elevenLabsKey] == nil {
      findings.append(.error(elevenLabsKey, "must be given together with elevenlabs.baseUrl"))
    }
    return findings
  }

  // MARK: Checks

  private static func isURL(_ text: String?) -> String? {
    guard let text else { return nil }
    return SafeURL.isSafe(text) ? nil : "an address that begins with https://, or http:// on this machine"
  }

  private static func isPath(_ text: String) -> String? {
    text.hasPrefix("/") && text.utf8.allSatisfy { (0x21...0x7e).contains($0) } ? nil : "a path that begins with /"
  }

  private static func isOne(of words: [String]) -> @Sendable (String) -> String? {
    { words.contains($0) ? nil : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "") }
  }
}
