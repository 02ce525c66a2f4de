internal import Audio
internal import Blobs
internal import EventLoop
internal import Idempotency
internal import Jobs
internal import Limits
internal import Logging
internal import OnboardingDomain
internal import OnboardingStore
internal import Pages
internal import ParleyAPI
internal import ParleyProvider
internal import PostgreSQL
internal import RPC
internal import ServiceKit
internal import Telemetry

/// Onboarding, put together.
struct OnboardingParts: Sendable {
  let onboarding: OnboardingHandlers
  let identity: IdentityHandlers
  let voices: VoiceHandlers
  let recordings: RecordingDesk
  let admin: OnboardingAdminHandlers
  let pipeline: SubmissionPipeline
  /// What writes down what people without an account say.
  let strangers: TranscriptionDesk
  private let own: OwnOnboardingData
  private let demo: DemoOffer
  private let tending: OnboardingTending
  private let hub = ProgressHub()
  /// Where ffmpeg is waited for: with threads of its own, so that names are resolved and files read while it works on what strangers
  /// sent. As many run at once as there are threads.
  private let listeners = BlockingPool(maximumThreads: 2)
  /// The same for recordings of people without an account, which nobody else waits for.
  private let strangeListeners = BlockingPool(maximumThreads: 1)
  /// The same for recordings that have just come in pieces: who has sent one waits for the answer, and not for what others have had written
  /// down.
  private let receivers = BlockingPool(maximumThreads: 2)
  private let database: Database
  private let blocking: BlockingPool
  private let loop: EventLoop
  private let log: Logger

  /// - Parameters:
  ///   - context: What the service is built from.
  ///   - jobs: Its queue.
  ///   - blobs: Where recordings are kept.
  ///   - products: What knows which product somebody has.
  ///   - pages: The key that page tokens are sealed with.
  init(
    _ context: ServiceContext, jobs: PostgreSQLJobs, blobs: any BlobStore, products: any ProductAsking, pages: PageKeyStore
  ) throws {
    let (settings, database, now) = (context.settings, context.database, context.now)
    let catalogues: StepCatalogues
    do throws(StepsFolder.Fault) { catalogues = try StepsFolder.catalogues(settings[OnboardingKeys.stepsDirectory]?.path) } catch
    {
      throw ServiceFailure(.configuration, "\(OnboardingKeys.stepsDirectory.name): \(error)")
    }
    let steps = catalogues.newest
    let (answers, recordings) = (AnswerStore(database), RecordingStore(database))
    let (submissions, identities) = (SubmissionStore(database), IdentityStore(database))
    let voiceStore = VoiceStore(database)
    let providers = PipelineProviders(context)
    func audioTools(on pool: BlockingPool) -> AudioTools {
      AudioTools(ffprobe: settings[OnboardingKeys.ffprobe], ffmpeg: settings[OnboardingKeys.ffmpeg], on: pool)
    }
    var tools = audioTools(on: listeners)
    let inspector = LocalInspection(tools)
    // What is written down without being kept may be larger.
    tools.limits.fileSize = SubmissionLimits.transcription
    let largeInspector = LocalInspection(tools)
    var strangeTools = audioTools(on: strangeListeners)
    strangeTools.limits.duration = SubmissionLimits.strangersRecording
    let uploads = UploadStore(database)
    let journal = PipelineJournal(context.log, context.metrics)
    let keeping = AnswerKeeping(recordings: recordings, now: now)
    let works = WorkStore()
    pipeline = SubmissionPipeline(
      database: database, answers: answers, recordings: recordings, submissions: submissions, identities: identities,
      voices: voiceStore, works: works, blobs: blobs, inspector: inspector, providers: providers, jobs: jobs,
      steps: catalogues, journal: journal, now: now)
    let watch = SubmissionWatch(submissions: submissions, hub: hub)
    onboarding = OnboardingHandlers(
      steps: ListedSteps(catalogues),
      answers: AnswerDesk(
        answers: answers, keeping: keeping, submissions: submissions, anonymous: AnonymousRecordStore(database), steps: steps,
        following: RecordingFollowUp(jobs: jobs, now: now), blocking: context.loops.blocking,
        retention: settings[OnboardingKeys.anonymousRetention], anonymousBytes: settings[OnboardingKeys.anonymousBytes],
        crowdedOut: context.metrics.counter(
          "parley_onboarding_anonymous_removed_total",
          help: "Records of people without an account that were removed before their time, as newer ones would not have fitted."),
        now: now),
      uploads: UploadDesk(
        database: database, uploads: uploads, recordings: recordings, submissions: submissions,
        probe: AudioProbe(audioTools(on: receivers)),
        // As many of the largest as are looked into at once.
        room: RecordingRoom(bytes: receivers.maximumThreads * SubmissionLimits.recording),
        blocking: context.loops.blocking, now: now),
      intake: SubmissionIntake(
        answers: answers, keeping: keeping, submissions: submissions, voices: voiceStore, jobs: jobs, steps: steps,
        blocking: context.loops.blocking, now: now),
      watch: watch,
      outcomes: SubmissionOutcomes(
        submissions: submissions, recordings: recordings, identities: identities, voices: voiceStore, steps: catalogues),
      extraction: ExtractionDesk(
        answers: answers, submissions: submissions, identities: identities, pipeline: pipeline, now: now),
      transcription: TranscriptionDesk(inspector: largeInspector, transcriber: providers.transcriber, journal: journal, now: now),
      defaultWait: settings[OnboardingKeys.completeWait])
    strangers = TranscriptionDesk(
      inspector: LocalInspection(strangeTools), transcriber: providers.transcriber, journal: journal, now: now)
    identity = IdentityHandlers(identities: identities, submissions: submissions, steps: catalogues, now: now)
    voices = VoiceHandlers(
      voices: voiceStore, recordings: recordings, submissions: submissions, blobs: blobs, jobs: jobs, now: now)
    self.recordings = RecordingDesk(database: database, recordings: recordings, blobs: blobs)
    admin = OnboardingAdminHandlers(
      submissions: submissions, recordings: recordings, identities: identities, voices: voiceStore, works: works,
      unfinished: UnfinishedStore(database), watch: watch, steps: catalogues, jobs: jobs, pages: pages, log: context.log, now: now
    )
    own = OwnOnboardingData(
      database: database, store: OnboardingDataStore(database), recordings: recordings, voices: voiceStore,
      submissions: submissions, kept: IdempotencyStore(schema: "onboarding", database),
      limits: RateLimitSweep(schema: "onboarding", database), blobs: blobs, jobs: jobs.queue,
      pipeline: pipeline,
      now: now)
    demo = DemoOffer(
      database: database, effects: EffectStore(), products: products,
      starterProducts: Set(settings[OnboardingKeys.starterProducts]), jobs: jobs, log: context.log, now: now)
    tending = OnboardingTending(context, submissions, providers, jobs, blobs)
    self.database = database
    blocking = context.loops.blocking
    (loop, log) = (context.loops.loops[0], context.log)
  }

  /// Who does its jobs.
  var handlers: [JobHandlers] { [pipeline.handlers, own.handlers, demo.handlers] }

  /// What it serves.
  var routes: [ServiceRoutes] {
    [
      ParleyAPI.OnboardingService.routes(onboarding).limiting(
        "Complete", to: RequestLimit(bytes: SubmissionLimits.message, alternative: "UploadRecording")
      ).limiting(
        "SaveAnswer", to: RequestLimit(bytes: 16 << 20, alternative: "UploadRecording")
      ).limiting(
        "Transcribe",
        to: RequestLimit(bytes: SubmissionLimits.transcription + 1_024, room: LargeRequestRoom.transcriptions)),
      IdentityService.routes(identity), VoiceService.routes(voices), OnboardingAdminService.routes(admin),
      AccountDataService.routes(AccountDataHandlers(own)),
    ]
  }

  /// What runs beside the server.
  var background: [BackgroundJob] {
    [
      BackgroundJob("onboarding progress") { [hub, database] in await hub.listen(database) },
      BackgroundJob("onboarding watchers") { [hub, database, loop, log] in
        try await hub.look(SubmissionStore(database), on: loop, log)
      },
      BackgroundJob("onboarding sweep", tasks: TendingPart.allCases.map(\.rawValue)) {
        [tending, listeners, strangeListeners, receivers, blocking] in
        do { try await tending.run() } catch {
          // Off the loop, since it waits for the threads.
          try? await blocking.run {
            listeners.shutDown()
            strangeListeners.shutDown()
            receivers.shutDown()
          }
          throw error
        }
      },
    ]
  }
}
