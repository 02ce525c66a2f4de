import ErrorReasons
import RPC

/// Why a push did not succeed. What was not pushed is still on the device, and pushing again is safe.
public struct PushFailure: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public enum Kind: Sendable, Hashable {
    /// Nobody is signed in, or not any more.
    case notSignedIn
    /// The person has no subscription: show the paywall.
    case noSubscription
    /// No complete answers wait on this device.
    case noData
    /// The answers on this device cannot be pushed as they are.
    case invalidData
    /// The service was not reached, or did not answer.
    case network
    /// The answers are larger than what the service takes.
    case tooLarge
    /// The service still works on other answers of the person's.
    case running
    /// The device's store failed.
    case storage
    /// The service refused, for this reason.
    case server(reason: String)
  }

  /// The kind of failure.
  public let kind: Kind
  /// What it came from.
  public let cause: (any Error)?
  /// How long the service asks to wait before the next attempt.
  public let retryAfter: Duration?
  private let detail: String

  /// A line for the person, with the cause. Apps in other languages say it by the kind.
  public var text: String { "Failed to push: \(detail)" }

  /// What the person should do.
  public var advice: String {
    switch kind {
    case .notSignedIn: "Sign in again."
    case .noSubscription: "Choose a plan to go on."
    case .noData: "Complete onboarding first."
    case .invalidData: "Answer the step again."
    case .network, .running, .storage, .server: "Try again."
    case .tooLarge: "Record shorter answers."
    }
  }

  /// Whether the paywall is what helps.
  public var needsPaywall: Bool { kind == .noSubscription }

  /// The line for the person.
  public var description: String { text }

  init(_ kind: Kind, _ detail: String, cause: (any Error)? = nil, retryAfter: Duration? = nil) {
    self.kind = kind
    self.detail = detail
    self.cause = cause
    self.retryAfter = retryAfter
  }

  /// The failure that an error means.
  init(_ error: any Error) {
    switch error {
    case let failure as PushFailure: self = failure
    case let error as OnboardingError:
      self.init(error.code == .tooLarge ? .tooLarge : .invalidData, error.description, cause: error)
    case let error as KeyValueStoreError: self.init(.storage, error.description, cause: error)
    case let error as RPCError:
      let kind = Self.kind(error)
      // What a network says of itself names hosts and ports, which are for the log.
      let text = kind == .network ? "the service cannot be reached" : error.message
      self.init(kind, text, cause: error, retryAfter: error.retryAfter)
    default: self.init(.storage, "the device's store failed", cause: error)
    }
  }

  private static func kind(_ error: RPCError) -> Kind {
    switch error.reason {
    case "SUBSCRIPTION_REQUIRED": return .noSubscription
    case "SUBMISSION_RUNNING": return .running
    default: break
    }
    if error.meansTooLarge { return .tooLarge }
    // Somebody on the way who answers in the service's place says nothing of the person.
    if error.isFromHere || error.cause is AnsweredStatus { return .network }
    if error.code == .unauthenticated { return .notSignedIn }
    if error.code == .unavailable || error.code == .deadlineExceeded { return .network }
    return .server(reason: error.reason ?? error.code.name)
  }
}

extension RPCError {
  /// Whether the request was larger than what somebody on the way or the service takes.
  var meansTooLarge: Bool {
    if reason?.hasSuffix("_TOO_LARGE") == true || toldStatus == 413 { return true }
    return code == .resourceExhausted && reason == nil && retryAfter == nil && !(cause is AnsweredStatus)
  }

  /// Whether the same request may succeed in a moment: nobody answered, two got in each other's way, or a limit says when.
  var isWorthRepeating: Bool {
    guard !asksForLongWait else { return false }
    return switch code {
    case .unavailable, .deadlineExceeded: true
    case .aborted: reason != "SUBMISSION_RUNNING"
    case .resourceExhausted: retryAfter != nil
    default: false
    }
  }

  /// Whether whoever answered asks for a wait of more than a minute: the person is told so then, instead of kept waiting.
  var asksForLongWait: Bool { (retryAfter ?? .zero) > .seconds(60) }
}
