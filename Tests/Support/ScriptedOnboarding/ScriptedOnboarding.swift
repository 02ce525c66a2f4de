public import EventLoop
import MessagesCore
public import ParleyAPI
public import RPC
import RPCServer
import Synchronization
import WellKnown

/// The onboarding service as a client sees it, in memory: what it is sent is kept, and what goes wrong is scripted.
public final class ScriptedOnboarding: Sendable {
  /// An upload and what has arrived of it.
  public struct Upload: Sendable {
    /// What it is.
    public var head: RecordingHead
    /// What has arrived.
    public var bytes: [UInt8] = []
    /// Whether all of it has.
    public var isComplete: Bool { bytes.count == Int(head.size) }
  }

  /// What happened, and what is to happen.
  public struct State: Sendable {
    /// The end of a stream of progress after so many events.
    public struct WatchEnd: Sendable {
      let events: Int
      let isBroken: Bool

      /// The connection breaks.
      public static func broken(after events: Int) -> WatchEnd { WatchEnd(events: events, isBroken: true) }
      /// It ends as if all had been told.
      public static func quiet(after events: Int) -> WatchEnd { WatchEnd(events: events, isBroken: false) }
    }

    /// The methods that were called, in order.
    public var calls: [String] = []
    /// All requests with all answers, also those whose answer was lost.
    public var completes: [CompleteRequest] = []
    /// What was taken in, by key: each once.
    public var taken: [String: CompleteRequest] = [:]
    /// Uploads by name.
    public var uploads: [String: Upload] = [:]
    /// Where streams of uploads began.
    public var offsets: [Int64] = []
    /// Where streams of progress began.
    public var watches: [String] = []
    /// Errors of the next calls of a method, before anything happens.
    public var refusals: [String: [RPCError]] = [:]
    /// The answers to so many requests with all answers are lost after the service has taken them.
    public var lostAnswers = 0
    /// After how many bytes the next uploads break off.
    public var uploadBreaks: [Int] = []
    /// How the next streams of progress end before their time.
    public var watchEnds: [WatchEnd] = []
    /// What happens to a submission, in order.
    public var events: [Submission] = ScriptedOnboarding.usualEvents
    /// How far `GetSubmission` says that the work has come; nil for its end.
    public var standing: Submission?
    /// Waits before the event with this number (from 1) is told.
    public var holds: [Int: @Sendable () async throws -> Void] = [:]
    /// Waits inside each request with all answers.
    public var completeHold: (@Sendable () async throws -> Void)?
    /// Whether `GetSubmission` tells the final answer.
    public var tellsResult = true
    /// Whoever calls needs this credential.
    public var bearer: String?
    /// Whether callers have a subscription.
    public var isSubscribed = true
    /// The largest request with all answers, in bytes of text in it.
    public var maximumTextBytes = Int.max
  }

  private let held = Mutex(State())

  /// A service that nothing has happened to.
  public init() {}

  /// What happened so far.
  public var state: State { held.withLock { $0 } }

  /// Changes what is to happen.
  public func change(_ body: (inout State) -> Void) { held.withLock { body(&$0) } }

  /// A refusal in the service's own words.
  public static func refusal(_ code: StatusCode, _ reason: String, wait: Duration? = nil) -> RPCError {
    RPCError(
      code, "refused: \(reason)",
      details: [.errorInfo(reason: reason, domain: "parley.onboarding.v1", metadata: [:])] + (wait.map { [.retryInfo($0)] } ?? [])
    )
  }

  /// The course of a submission in which nothing goes wrong.
  public static let usualEvents: [Submission] = [
    event(1, .received, 40), event(2, .storingAudio, 40, 1, of: 2), event(3, .storingAudio, 40, 2, of: 2),
    event(4, .transcribing, 80, 1, of: 2), event(5, .transcribing, 80, 2, of: 2), event(6, .extracting, 80, 0, of: 1),
    event(7, .cloning, 80, 0, of: 1), event(8, .done, 100),
  ]

  /// An event of the submission.
  public static func event(
    _ number: Int, _ stage: SubmissionStage, _ percent: Int32, _ done: Int32 = 0, of total: Int32 = 0
  ) -> Submission {
    Submission(id: "submission-1", stage: stage, percent: percent, done: done, total: total, position: "1:\(number)")
  }

  /// The steps that the service tells of: one of each kind that matters.
  public static let steps: [OnboardingStep] = [
    .init(number: 1, phase: "WARNING_INITIATION", type: "explanation", topic: "a warning"),
    .init(
      number: 2, phase: "WARNING_INITIATION", type: "voice", dbFields: ["voice_commitment"], minimumDuration: .init(seconds: 10),
      topic: "the reason"),
    .init(number: 3, phase: "WARNING_INITIATION", type: "text", dbFields: ["identity_name"], topic: "the name"),
    .init(
      number: 5, phase: "WARNING_INITIATION", type: "voice", dbFields: ["biggest_lie"],
      minimumDuration: .init(seconds: 1, nanos: 500_000_000), topic: "the lie"),
    .init(
      number: 6, phase: "EXCUSE_DISCOVERY", type: "choice", dbFields: ["favorite_excuse"], options: ["no time", "too tired"],
      topic: "the excuse"),
    .init(
      number: 11, phase: "EXCUSE_DISCOVERY", type: "dual_sliders",
      dbFields: ["motivation_fear_intensity", "motivation_desire_intensity"], topic: "two sliders"),
    .init(
      number: 37, phase: "EXTERNAL_ANCHORS", type: "time_window_picker", dbFields: ["evening_call_time"], topic: "when to call"),
    .init(
      number: 43, phase: "FINAL_OATH", type: "long_press_activate", dbFields: ["contract_seal"],
      minimumDuration: .init(seconds: 7), topic: "hold to seal"),
  ]

  /// Notes a call and judges its caller.
  func enter(_ method: String, _ call: CallContext, needsSubscription: Bool = false, isPublic: Bool = false) throws {
    try held.withLock { state in
      state.calls.append(method)
      if var refusals = state.refusals[method], !refusals.isEmpty {
        defer { state.refusals[method] = refusals }
        throw refusals.removeFirst()
      }
      guard !isPublic else { return }
      if let bearer = state.bearer, call.metadata["authorization"] != "Bearer \(bearer)" {
        throw Self.refusal(.unauthenticated, "INVALID_ACCESS_TOKEN")
      }
      if needsSubscription, !state.isSubscribed { throw Self.refusal(.failedPrecondition, "SUBSCRIPTION_REQUIRED") }
    }
  }

  /// Its routes.
  public var routes: ServiceRoutes { OnboardingService.routes(ScriptedOnboardingHandlers(script: self)) }

  /// Runs `body` with a server of it, and of other services.
  ///
  /// - Parameters:
  ///   - group: The loops that it runs on.
  ///   - more: The other services.
  ///   - body: Gets the port on 127.0.0.1.
  public func serve(
    on group: EventLoopGroup, with more: [ServiceRoutes] = [], _ body: (UInt16) async throws -> Void
  ) async throws {
    let health = HealthStatus()
    health.started()
    let server = RPCServer(on: group, services: [routes, HealthService(health).routes] + more)
    let port = try server.listen(on: SocketAddress("127.0.0.1:0")).port ?? 0
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(port)) } catch { outcome = .failure(error) }
    await server.drain(within: .seconds(1))
    try outcome.get()
  }
}
