internal import ElevenLabsProvider
internal import OnboardingDomain
internal import OpenAIProvider
internal import ServiceKit

extension PipelineProviders {
  private typealias Keys = OnboardingKeys

  /// The providers that a service is told of. Where one is not, what it is needed for waits.
  init(_ context: ServiceContext) {
    let absent = AbsentProvider()
    self.init(
      transcriber: Self.transcriber(context) ?? absent, extractor: Self.extractor(context) ?? absent,
      cloner: Self.cloner(context) ?? absent)
  }

  private static func transcriber(_ context: ServiceContext) -> (any Transcribing)? {
    let settings = context.settings
    guard var server = Self.server(settings, Keys.transcriptionBase, Keys.transcriptionKey) else { return nil }
    server.transcriptionPath = settings[Keys.transcriptionPath]
    server.maximumUploadSize = settings[Keys.transcriptionRequestBytes]
    server.transcriptionTimeout = settings[Keys.transcriptionTimeout]
    server.verboseTranscriptions =
      switch settings[Keys.transcriptionFormat] {
      case "json": false
      case "verbose_json": true
      default: nil
      }
    return OpenAITranscriber(
      client: client(of: server, context), model: settings[Keys.transcriptionModel],
      language: settings[Keys.transcriptionLanguage])
  }

  private static func extractor(_ context: ServiceContext) -> (any IdentityExtracting)? {
    let settings = context.settings
    guard var server = Self.server(settings, Keys.extractionBase, Keys.extractionKey) else { return nil }
    server.chatPath = settings[Keys.extractionPath]
    server.structuredOutput = settings[Keys.structuredOutput] == "json_object" ? .jsonObject : .jsonSchema
    server.tokenLimit = settings[Keys.tokenLimit] == "max_tokens" ? .maxTokens : .maxCompletionTokens
    server.chatTimeout = settings[Keys.extractionTimeout]
    return OpenAIExtractor(
      client: client(of: server, context), model: settings[Keys.extractionModel],
      maximumTokens: settings[Keys.maximumTokens])
  }

  private static func cloner(_ context: ServiceContext) -> (any VoiceCloning)? {
    let (settings, clock) = (context.settings, context.clock)
    guard let base = settings[Keys.elevenLabsBase] else { return nil }
    let account = ElevenLabsSettings(base: base, key: settings[Keys.elevenLabsKey] ?? "")
    return ElevenLabsVoices(client: ElevenLabsClient(account, over: context.outbound) { clock.unixSeconds })
  }

  /// The server for one kind of work: its own, else the shared one. A key goes nowhere but to the server that it was given for.
  private static func server(
    _ settings: Settings, _ base: ConfigurationKey<String?>, _ key: ConfigurationKey<String?>
  ) -> OpenAISettings? {
    var server: OpenAISettings
    if let own = settings[base] {
      server = OpenAISettings(base: own, key: settings[key] ?? "")
    } else if let shared = settings[Keys.openAIBase] {
      server = OpenAISettings(base: shared, key: settings[key] ?? settings[Keys.openAIKey] ?? "")
    } else {
      return nil
    }
    server.idempotencyHeader = settings[Keys.idempotencyHeader]
    return server
  }

  private static func client(of server: OpenAISettings, _ context: ServiceContext) -> OpenAIClient {
    let clock = context.clock
    return OpenAIClient(server, over: context.outbound) { clock.unixSeconds }
  }
}
