internal import ErrorReasons
internal import OnboardingDomain
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
  /// The key was used with other content.
  case keyReused
  /// There are no answers.
  case noAnswers
  /// There is no such submission.
  case noSubmission
  /// There is no such upload.
  case noUpload
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
  /// The voice was made anew this month already.
  case cloneUsedUp
  /// There is no such version of the catalogue.
  case noCatalogue
  /// A provider did not answer.
  case providerUnavailable(word: String, retryAfter: Duration?)
  /// The recording cannot be written down.
  case notTranscribed(word: String)

  static let domain = "parley.onboarding.v1"

  /// Throws where the name of a text that somebody agrees to is out of its bounds.
  static func checkStatement(_ statement: String, field: String) throws(OnboardingRefusal) {
    typealias Limits = SubmissionLimits
    guard statement.isStorable(characters: 1...Limits.statement, bytes: Limits.statementBytes) else {
      throw .invalid(
        field: field, "1 to \(Limits.statement) characters of \(Limits.statementBytes) bytes together, and no U+0000")
    }
  }

  private var facts: (code: StatusCode, reason: String, text: String) {
    switch self {
    case .invalid(_, let text): (.invalidArgument, "INVALID_ARGUMENT", text)
    case .badRecording(_, let word): (.invalidArgument, Self.reason(word), "the recording cannot be taken: \(word)")
    case .running: (.aborted, "SUBMISSION_RUNNING", "other answers of yours are being worked on")
    case .overtaken: (.aborted, "ANSWERS_CHANGED", "newer answers came meanwhile")
    case .departed: (.unauthenticated, "ACCOUNT_DELETED", "the account is deleted")
    case .busy: (.aborted, "BUSY", "something else of yours is being written")
    case .overQuota(let text): (.resourceExhausted, "QUOTA_EXCEEDED", text)
    case .tooManyWatchers: (.resourceExhausted, "TOO_MANY_WATCHERS", "the submission is watched by too many of yours")
    case .keyReused: (.alreadyExists, "IDEMPOTENCY_KEY_REUSED", "the key was used with other answers")
    case .noAnswers: (.notFound, "NO_ANSWERS", "there are no answers")
    case .noSubmission: (.notFound, "SUBMISSION_NOT_FOUND", "there is no such submission")
    case .noUpload: (.notFound, "UPLOAD_NOT_FOUND", "there is no such upload")
    case .wrongOffset(let durable): (.outOfRange, "WRONG_OFFSET", "the upload goes on at \(durable)")
    case .digestMismatch: (.invalidArgument, "DIGEST_MISMATCH", "the bytes do not have the digest that was announced")
    case .noAnonymousRecord: (.notFound, "PROGRESS_NOT_FOUND", "nothing is kept under the key")
    case .noIdentity: (.notFound, "IDENTITY_NOT_FOUND", "nothing is known yet")
    case .noField: (.invalidArgument, "UNKNOWN_FIELD", "there is no such field")
    case .noConsent: (.failedPrecondition, "CONSENT_REQUIRED", "a voice needs the person's consent")
    case .cloneUsedUp: (.resourceExhausted, "CLONE_LIMIT_REACHED", "the voice was made anew this month already")
    case .noCatalogue: (.notFound, "CATALOGUE_NOT_FOUND", "there is no such version of the catalogue")
    case .providerUnavailable: (.unavailable, "PROVIDER_UNAVAILABLE", "the provider does not answer")
    case .notTranscribed(let word): (.failedPrecondition, Self.reason(word), "the recording cannot be written down: \(word)")
    }
  }

  private static func reason(_ word: String) -> String { word.uppercased().replacing("-", with: "_") }

  /// The refusal as it is sent.
  var rpcError: RPCError {
    let (code, reason, text) = facts
    var metadata: [String: String] = [:]
    var details: [ErrorDetail] = []
    switch self {
    case .invalid(let field, let text): details.append(.badRequest([.init(field: field, description: text)]))
    case .badRecording(let field, let word): details.append(.badRequest([.init(field: field, description: word)]))
    case .running(let submission): metadata["submission_id"] = submission
    case .wrongOffset(let durable): metadata["offset"] = "\(durable)"
    case .busy: details.append(.retryInfo(.seconds(1)))
    case .tooManyWatchers: details.append(.retryInfo(.seconds(30)))
    case .providerUnavailable(_, let retryAfter): details.append(.retryInfo(retryAfter ?? .seconds(5)))
    default: break
    }
    details.insert(.errorInfo(reason: reason, domain: Self.domain, metadata: metadata), at: 0)
    return RPCError(code, text, details: details, cause: self)
  }
}
