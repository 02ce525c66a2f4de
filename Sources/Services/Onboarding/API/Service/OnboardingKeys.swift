internal import EventLoop
public import ServiceKit

/// The settings of onboarding.
public enum OnboardingKeys {
  /// Who writes recordings down and understands answers.
  public static let openAIBase = ConfigurationKey<String?>(
    optional: "openai.baseUrl", check: isURL,
    "An OpenAI-compatible API: https://api.openai.com/v1, or that of a Whisper server, vLLM, Ollama.")
  /// Its key.
  public static let openAIKey = ConfigurationKey<String?>(
    optional: "openai.apiKey", isSecret: true, aliases: ["OPENAI_API_KEY"], "Its key; servers of one's own may need none.")
  /// What writes recordings down.
  public static let transcriptionModel = ConfigurationKey<String>(
    "transcription.model", default: "whisper-1", "The model that writes recordings down.")
  /// What is spoken.
  public static let transcriptionLanguage = ConfigurationKey<String?>(
    optional: "transcription.language", "The language that is spoken (ISO 639-1); heard by the model otherwise.")
  /// What understands answers.
  public static let extractionModel = ConfigurationKey<String>(
    "extraction.model", default: "gpt-4o-mini", "The model that understands answers.")
  /// How the model is held to a form.
  public static let structuredOutput = ConfigurationKey<String>(
    "extraction.output", default: "json_schema",
    check: { ["json_schema", "json_object"].contains($0) ? nil : "json_schema or json_object" },
    "How the model is held to a form: json_schema, or json_object for servers that do not know it.")
  /// The name of a header.
  public static let idempotencyHeader = ConfigurationKey<String?>(
    optional: "openai.idempotencyHeader",
    "A header that names each request, for gateways that answer a repeated one without paying twice; OpenAI itself has none.")
  /// Who makes voices.
  public static let elevenLabsBase = ConfigurationKey<String?>(
    optional: "elevenlabs.baseUrl", check: isURL, "ElevenLabs: https://api.elevenlabs.io.")
  /// Its key.
  public static let elevenLabsKey = ConfigurationKey<String?>(
    optional: "elevenlabs.apiKey", isSecret: true, aliases: ["ELEVENLABS_API_KEY"], "Its key.")
  /// Where later versions of the catalogue are.
  public static let stepsDirectory = ConfigurationKey<FilePath?>(
    optional: "steps.directory", check: { $0?.path.hasPrefix("/") == false ? "from the root" : nil },
    "A folder with later versions of the steps, each a document NAME.json; read when the service starts.")
  /// How long an answer waits for the work.
  public static let completeWait = ConfigurationKey<Duration>(
    "complete.wait", default: .seconds(20), in: .zero ... .seconds(50),
    "For how long the answer to all answers waits for the work on them, where the caller does not say.")
  /// How long what people without an account have answered is kept.
  public static let anonymousRetention = ConfigurationKey<Duration>(
    "anonymous.retention", default: .seconds(30 * 86_400), in: .seconds(3_600)...(.seconds(365 * 86_400)),
    "How long the answers of people who have no account are kept.")
  /// How long an upload that broke off is kept.
  public static let uploadRetention = ConfigurationKey<Duration>(
    "upload.retention", default: .seconds(7 * 86_400), in: .seconds(3_600)...(.seconds(90 * 86_400)),
    "How long an upload that broke off can go on.")
  /// How long a recording is kept that no answer refers to.
  public static let orphanRetention = ConfigurationKey<Duration>(
    "orphan.retention", default: .seconds(30 * 86_400), in: .seconds(86_400)...(.seconds(3_650 * 86_400)),
    "How long a recording is kept that no answer refers to, and no upload that is still known.")
  /// How often what has run out is looked for.
  public static let tendingInterval = ConfigurationKey<Duration>(
    "tending.interval", default: .seconds(60), in: .milliseconds(50)...(.seconds(3_600)),
    "How often onboarding looks for what has run out and for submissions that were forgotten.")
  /// The shared secret of the debug paths.
  public static let debugToken = ConfigurationKey<String?>(
    optional: "debug.token", isSecret: true, aliases: ["DEBUG_ACCESS_TOKEN"],
    check: { ($0 ?? "").utf8.count < 16 ? "at least 16 characters" : nil },
    "What X-Debug-Access has to say on /debug/onboarding/…; without it those paths are closed.")
  /// Where the tools are.
  public static let ffmpeg = ConfigurationKey<String>("audio.ffmpeg", default: "/usr/bin/ffmpeg", "The program ffmpeg.")
  /// Where the tools are.
  public static let ffprobe = ConfigurationKey<String>("audio.ffprobe", default: "/usr/bin/ffprobe", "The program ffprobe.")
  /// When work is overdue.
  public static let overdueAfter = ConfigurationKey<Duration>(
    "submission.overdueAfter", default: .seconds(3_600), in: .seconds(60)...(.seconds(86_400)),
    "After how long a submission that is still being worked on is counted by parley_onboarding_overdue, and given a job again.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] = [
    openAIBase, openAIKey, transcriptionModel, transcriptionLanguage, extractionModel, structuredOutput, idempotencyHeader,
    elevenLabsBase, elevenLabsKey, stepsDirectory, completeWait, anonymousRetention, uploadRetention, orphanRetention,
    tendingInterval, debugToken, ffmpeg, ffprobe, overdueAfter,
  ]

  private static func isURL(_ text: String?) -> String? {
    guard let text else { return nil }
    return text.hasPrefix("https://") || text.hasPrefix("http://127.0.0.1") || text.hasPrefix("http://localhost")
      ? nil : "an address that begins with https://, or http:// on this machine"
  }

  /// What is the matter with them together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    var findings: [ConfigurationFinding] = []
    if settings[openAIBase] == nil {
      findings.append(.warning(openAIBase, "not given: recordings are kept and wait to be written down and understood"))
    }
    if settings[elevenLabsBase] == nil {
      findings.append(.warning(elevenLabsBase, "not given: no voices are made"))
    } else if settings[elevenLabsKey] == nil {
      findings.append(.error(elevenLabsKey, "must be given together with elevenlabs.baseUrl"))
    }
    do throws(StepsFolder.Fault) { _ = try StepsFolder.catalogues(settings[stepsDirectory]?.path) } catch {
      findings.append(.error(stepsDirectory, error.description))
    }
    return findings
  }
}
