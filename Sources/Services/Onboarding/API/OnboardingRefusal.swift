internal import ErrorReasons
internal import MessagesCore
internal import OnboardingDomain
internal import ParleyAPI
internal import RPC

/// Why onboarding does not do what it was asked to.
enum OnboardingRefusal: Error, Sendable, Hashable {
  /// A field is missing or out of its bounds.
  case invalid(field: String, String)
  /// A recording is none, or too large, or not what it is called; the word says which.
  case badRecording(field: String, word: String)
  /// Other answers are being worked on.
  case running(submission: String)
  /// Other answers came, or were understood, while these were being worked on.
  case overtaken
  /// The account is deleted.
  case departed
  /// Something else is being written for the person.
  case busy
  /// The person has too much in the database that is no answer.
  case overQuota(String)
  /// The submission is watched by too many.
  case tooManyWatchers
  /// People without an account had enough recordings written down in this minute.
  case tooManyStrangers(wait: Duration)
  /// As many recordings of people without an account are worked on as may be.
  case strangersBusy
  /// The key was used with other content.
  case keyReused
  /// There are no answers.
  case noAnswers
  /// There is no such submission.
  case noSubmission
  /// There is no such upload.
  case noUpload
  /// There is no such recording.
  case noRecording
  /// An upload goes on somewhere else.
  case wrongOffset(durable: Int64)
  /// What came is not what the device said.
  case digestMismatch
  /// Nothing was kept under the key.
  case noAnonymousRecord
  /// Nothing is known of the person.
  case noIdentity
  /// There is no such field.
  case noField
  /// The person has not agreed.
  case noConsent
  /// The voice was made anew this month already; it may be again from `opening` on, as RFC 3339, which is in `wait`.
  case cloneUsedUp(opening: String, wait: Duration)
  /// There is no such version of the catalogue.
  case noCatalogue
  /// A provider did not do what it was asked to.
  case providerUnavailable(word: String, retryAfter: Duration?)
  /// What is to be tried again is done, or was never begun.
  case nothingToRetry(String)

  static let domain = "parley.onboarding.v1"

  /// Throws where the name of a text that somebody agrees to is out of its bounds.
  static func checkStatement(_ statement: String, field: String) throws(OnboardingRefusal) {
    typealias Limits = SubmissionLimits
    guard statement.isStorable(characters: 1...Limits.statement, bytes: Limits.statementBytes) else {
      throw .invalid(
        field: field, "1 to \(Limits.statement) characters of \(Limits.statementBytes) bytes together, and no U+0000")
    }
  }

  private var facts: (code: StatusCode, reason: OnboardingErrorReason, text: String) {
    switch self {
    case .invalid(_, let text): (.invalidArgument, .invalidArgument, text)
    case .badRecording(_, let word): (.invalidArgument, Self.reason(word), "the recording cannot be taken: \(word)")
    case .running: (.aborted, .submissionRunning, "other answers of yours are being worked on")
    case .overtaken: (.aborted, .answersChanged, "newer answers came meanwhile")
    case .departed: (.unauthenticated, .accountDeleted, "the account is deleted")
    case .busy: (.aborted, .busy, "something else of yours is being written")
    case .overQuota(let text): (.resourceExhausted, .quotaExceeded, text)
    case .tooManyWatchers: (.resourceExhausted, .tooManyWatchers, "the submission is watched by too many of yours")
    case .tooManyStrangers: (.resourceExhausted, .rateLimited, "too many recordings of people without an account")
    case .strangersBusy: (.unavailable, .strangersBusy, "too many recordings at this moment")
    case .keyReused: (.alreadyExists, .idempotencyKeyReused, "the key was used with other answers")
    case .noAnswers: (.notFound, .noAnswers, "there are no answers")
    case .noSubmission: (.notFound, .submissionNotFound, "there is no such submission")
    case .noUpload: (.notFound, .uploadNotFound, "there is no such upload")
    case .noRecording: (.notFound, .recordingNotFound, "there is no such recording")
    case .wrongOffset(let durable): (.outOfRange, .wrongOffset, "the upload goes on at \(durable)")
    case .digestMismatch: (.invalidArgument, .digestMismatch, "the bytes do not have the digest that was announced")
    case .noAnonymousRecord: (.notFound, .progressNotFound, "nothing is kept under the key")
    case .noIdentity: (.notFound, .identityNotFound, "nothing is known yet")
    case .noField: (.invalidArgument, .unknownField, "there is no such field")
    case .noConsent: (.failedPrecondition, .consentRequired, "a voice needs the person's consent")
    case .cloneUsedUp: (.resourceExhausted, .cloneLimitReached, "the voice was made anew this month already")
    case .noCatalogue: (.notFound, .catalogueNotFound, "there is no such version of the catalogue")
    case .providerUnavailable: (.unavailable, .providerUnavailable, "the provider does not answer")
    case .nothingToRetry(let text): (.failedPrecondition, .nothingToRetry, text)
    }
  }

  /// The reason of a word for what is wrong with a recording: `audio_too_large`.
  private static func reason(_ word: String) -> OnboardingErrorReason {
    let number = OnboardingErrorReason.descriptor.number(of: prefix + word.uppercased())
    return number.map { OnboardingErrorReason(rawValue: $0) } ?? .invalidArgument
  }

  private static let prefix = "ERROR_REASON_"

  /// The refusal as it is sent.
  var rpcError: RPCError {
    let (code, reason, text) = facts
    let name = OnboardingErrorReason.descriptor.name(of: reason.rawValue) ?? Self.prefix
    var metadata: [String: String] = [:]
    var details: [ErrorDetail] = []
    switch self {
    case .invalid(let field, let text): details.append(.badRequest([.init(field: field, description: text)]))
    case .badRecording(let field, let word): details.append(.badRequest([.init(field: field, description: word)]))
    case .running(let submission): metadata["submission_id"] = submission
    case .wrongOffset(let durable): metadata["offset"] = "\(durable)"
    case .busy: details.append(.retryInfo(.seconds(1)))
    case .tooManyWatchers: details.append(.retryInfo(.seconds(30)))
    case .tooManyStrangers(let wait): details.append(.retryInfo(wait))
    case .strangersBusy: details.append(.retryInfo(.seconds(5)))
    case .cloneUsedUp(let opening, let wait):
      metadata["next_clone_at"] = opening
      details.append(.retryInfo(wait))
    case .providerUnavailable(_, let retryAfter): details.append(.retryInfo(retryAfter ?? .seconds(5)))
    default: break
    }
    let info = ErrorDetail.errorInfo(reason: String(name.dropFirst(Self.prefix.count)), domain: Self.domain, metadata: metadata)
    return RPCError(code, text, details: [info] + details, cause: self)
  }
}
