internal import Audio
internal import Blobs
internal import ElevenLabsProvider
internal import EventLoop
internal import Idempotency
internal import Jobs
internal import Limits
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import OpenAIProvider
internal import Pages
internal import ParleyAPI
internal import ParleyProvider
public import PostgreSQL
public import RPC
internal import RPCServer
public import ServiceKit
internal import Telemetry

/// `parley-onboarding`: takes in what people answer, and makes something of it.
public enum OnboardingService: Service {
  /// `onboarding`.
  public static let name = "onboarding"
  /// As in `deploy/services`.
  public static let defaultPort: UInt16 = 10_010
  /// The keys of all of its parts.
  public static let configuration: [any ConfigurationKeyDeclaration] =
    AuthServiceKeys.all + OnboardingKeys.all + BlobKeys.all + JobKeys.all
  /// Onboarding, identity and voice, what operators do, and what is kept of people.
  public static let services: [ServiceDescriptor] = [
    ParleyAPI.OnboardingService.descriptor, IdentityService.descriptor, VoiceService.descriptor,
    OnboardingAdminService.descriptor, AccountDataService.descriptor, JobAdminService.descriptor,
  ]
  /// Submissions, and recordings that are written down at once; those by plain HTTP come in a form.
  public static let largestRequests = [
    RequestLimit.room: SubmissionLimits.message,
    LargeRequestRoom.transcriptions: SentRecording.limit(
      SubmissionLimits.transcription, in: LargeRequestRoom.transcriptions
    ).bytes, LargeRequestRoom.strangers: SentRecording.limit(SubmissionLimits.recording, in: LargeRequestRoom.strangers).bytes,
  ]
  /// Those of the paths that are no method's.
  public static let limits = [OnboardingHTTPRoutes.Limits.listening, OnboardingHTTPRoutes.Limits.analysing]
  /// The schema `onboarding`.
  public static let migrations: [Migration] = OnboardingMigrations.all
  /// Their ends, and what of them is a person's.
  public static let tables: [TableDeclaration] = OnboardingMigrations.tables

  /// What an operator should know about the settings.
  public static func check(_ settings: Settings) -> [ConfigurationFinding] {
    var findings = AuthServiceKeys.check(settings) + BlobKeys.findings(settings) + OnboardingKeys.findings(settings)
    if settings[AuthServiceKeys.address] == nil {
      findings.append(.error(AuthServiceKeys.address, "must be given: people sign in at the auth service"))
    }
    return findings
  }

  /// Puts it together.
  public static func build(_ context: ServiceContext) async throws -> ServiceParts {
    guard let sessions = try ParleySessions(context) else {
      throw ServiceFailure(.configuration, "\(AuthServiceKeys.address.name) is not given")
    }
    let jobs = ServiceJobs(context, schema: "onboarding")
    let blobs = try await ServiceBlobs.store(context)
    let pages = PageKeyStore(schema: "onboarding", context.database)
    let parts = try OnboardingParts(
      context, jobs: jobs.engine, blobs: blobs, products: sessions.entitlements, pages: pages)
    let policies = ServiceParts.policies(schema: "onboarding", context, unlessGone: SubmissionStore.isGone)
    guard let limiter = policies.limiter, let answers = policies.answers else {
      throw ServiceFailure(.internal, "nobody counts calls and keeps answers")
    }
    let http = OnboardingHTTPRoutes(
      onboarding: parts.onboarding, voices: parts.voices, recordings: parts.recordings, admin: parts.admin,
      sessions: sessions.authenticator, subscriptions: sessions.subscriptions,
      budget: { MethodBudget(of: $0, limiter, context) },
      listening: MethodBudget([OnboardingHTTPRoutes.Limits.listening], limiter, context),
      analysing: MethodBudget([OnboardingHTTPRoutes.Limits.analysing], limiter, context),
      strangers: StrangerDesk(
        parts.strangers, limiter, perMinute: context.settings[OnboardingKeys.strangersPerMinute], now: context.now),
      cloneKeys: KeyedPath(of: VoiceService.Methods.cloneVoice.info, answers, context), proxies: context.proxies,
      health: context.health,
      blocking: context.loops.blocking, debugToken: context.settings[OnboardingKeys.debugToken])
    return ServiceParts(joining: [
      policies,
      ServiceParts(
        services: parts.routes + [JobAdmin.routes(jobs.engine.queue, pages: pages, log: context.log)],
        guards: .sessions(sessions.authenticator, entitlements: sessions.entitlements), http: http.routes,
        fallback: { _ in .noSuchPath.secured },
        jobs: sessions.jobs + parts.background + [OwedDeletions(context).job]),
      jobs.parts(parts.handlers),
    ])
  }
}
