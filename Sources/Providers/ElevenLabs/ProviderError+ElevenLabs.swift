internal import JSON
public import OpenID
internal import Outbound

extension ProviderError.Code {
  /// The account has as many voices as it may have.
  public static let voiceLimitReached = Self("voice_limit_reached", isPermanent: true)
  /// The account may not clone voices.
  public static let cloningNotAllowed = Self("cloning_not_allowed", isPermanent: true)
  /// There is no such voice.
  public static let voiceNotFound = Self("voice_not_found", isPermanent: true)
  /// Too much is under way at once: come back when something of ours is done.
  public static let concurrencyLimited = Self("concurrency_limited", isPermanent: false)
}

extension ProviderError {
  /// What a status other than 200 means. The server's own name counts first: one and the same is sent with several statuses.
  init(_ response: HTTPResponse, unixSeconds: Int64) {
    let detail = Detail(response)
    let code: Code =
      switch detail.name {
      // Told with status 401, and no wrong key.
      case "quota_exceeded": .quotaExceeded
      case "voice_limit_reached": .voiceLimitReached
      case "can_not_use_instant_voice_cloning": .cloningNotAllowed
      case "voice_not_found", "voice_does_not_exist": .voiceNotFound
      case "concurrent_limit_exceeded", "too_many_concurrent_requests": .concurrencyLimited
      case "system_busy": .overloaded
      case "invalid_api_key", "missing_api_key": .unauthorized
      default: Self.code(response.status, namesError: detail.name != nil)
      }
    let wait = response.headers["retry-after"].flatMap { RetryAfter.delay(of: $0, unixSeconds: unixSeconds) }
    self.init(
      code, status: response.status, reason: detail.name, retryAfter: code.isPermanent ? nil : wait,
      requestID: detail.requestID ?? response.headers["request-id"].flatMap { $0.utf8.count <= 128 ? $0 : nil },
      mayHaveTakenEffect: code == .serverFailed)
  }

  private static func code(_ status: Int, namesError: Bool) -> Code {
    switch status {
    case 400, 422: .invalidRequest
    case 401: .unauthorized
    case 402: .quotaExceeded
    case 403: .forbidden
    // A path that is not there is answered with 404 too, but names no error. It must not pass for a voice that is gone.
    case 404 where namesError: .voiceNotFound
    case 408, 409, 425, 429: .rateLimited
    case 413: .tooLarge
    case 503, 529: .overloaded
    case 500...: .serverFailed
    default: .refused
    }
  }

  /// An answer with status 200 that cannot be read.
  static func malformed(_ response: HTTPResponse) -> ProviderError {
    ProviderError(.malformedAnswer, status: response.status, mayHaveTakenEffect: true)
  }

  /// The `detail` of an error in its three forms: an object with `code` (new) or `status` (old), a list of faults, a text. Messages are
  /// left where they are: they may quote what was sent.
  private struct Detail {
    var name: String?
    var requestID: String?

    init(_ response: HTTPResponse) {
      guard let detail = (try? JSONParser.parse(response.body))?["detail"] else { return }
      if detail.array != nil {
        name = "validation_error"
      } else if let object = detail.object {
        name = [object["code"], object["status"], object["type"]].compactMap { $0?.string }.first(where: \.isPlainName)
        requestID = object["request_id"]?.string.flatMap { $0.isPlainName ? $0 : nil }
      }
    }
  }
}
