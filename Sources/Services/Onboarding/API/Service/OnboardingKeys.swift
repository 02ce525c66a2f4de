internal import EventLoop
public import ServiceKit

/// The settings of onboarding.
public enum OnboardingKeys {
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
  /// How much all of that may take.
  public static let anonymousBytes = ConfigurationKey<Int>(
    "anonymous.maxBytes", default: 256 << 20, in: (2 << 20)...(1 << 40),
    "How many bytes the answers of all people who have no account may take together; the oldest make room for new ones.")
  /// How long an upload that broke off is kept.
  public static let uploadRetention = ConfigurationKey<Duration>(
    "upload.retention", default: .seconds(7 * 86_400), in: .seconds(3_600)...(.seconds(90 * 86_400)),
    "How long an upload that broke off can go on.")
  /// How long a recording is kept that no answer refers to.
  public static let orphanRetention = ConfigurationKey<Duration>(
    "orphan.retention", default: .seconds(30 * 86_400), in: .seconds(86_400)...(.seconds(3_650 * 86_400)),
    "How long a recording is kept that no answer refers to, and no upload that is still known.")
  /// How much people without an account may have written down.
  public static let strangersPerMinute = ConfigurationKey<Int>(
    "strangers.perMinute", default: 20, in: 1...10_000,
    "How many recordings of people without an account are written down in a minute, of all of them together.")
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
  /// How long what happened to submissions is kept.
  public static let submissionRetention = ConfigurationKey<Duration>(
    "submission.retention", default: .seconds(90 * 86_400), in: .seconds(86_400)...(.seconds(3_650 * 86_400)),
    "How long a submission is kept that a newer one has superseded, and the course of one on which work has ended.")
  /// The products of the starter plan.
  public static let starterProducts = ConfigurationKey<[String]>(
    "starter.products", default: [],
    "The store's names of the products of the starter plan, whose subscribers get no demo call; without it all have the normal plan."
  )
  /// When work is overdue.
  public static let overdueAfter = ConfigurationKey<Duration>(
    "submission.overdueAfter", default: .seconds(3_600), in: .seconds(60)...(.seconds(86_400)),
    "After how long a submission that is still being worked on is counted by parley_onboarding_overdue.")

  /// All of them, in the order of documentation.
  static let all: [any ConfigurationKeyDeclaration] =
    providers + [
      stepsDirectory, completeWait, anonymousRetention, anonymousBytes, uploadRetention, orphanRetention, strangersPerMinute,
      tendingInterval, debugToken, ffmpeg, ffprobe, overdueAfter, submissionRetention, starterProducts,
    ]

  /// What is the matter with them together.
  static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    var findings = providerFindings(settings)
    do throws(StepsFolder.Fault) { _ = try StepsFolder.catalogues(settings[stepsDirectory]?.path) } catch {
      findings.append(.error(stepsDirectory, error.description))
    }
    return findings
  }
}
