internal import JSON
public import OpenID
internal import Outbound

extension ProviderError.Code {
  /// What was asked is longer than the model can read.
  public static let contextTooLong = Self("context_too_long", isPermanent: true)
  /// There is no such model, or none for this key.
  public static let modelNotFound = Self("model_not_found", isPermanent: true)
  /// Another request was in the way (409), or this one took too long to arrive (408).
  public static let conflict = Self("conflict", isPermanent: false)
}

extension ProviderError {
  /// What a status other than 200 means. Its message is left where it is: it may quote what was asked.
  init(_ response: HTTPResponse, unixSeconds: Int64) {
    // whisper.cpp's errors are a text; a proxy's are no JSON at all.
    let error = (try? JSONParser.parse(response.body))?["error"]
    let names = [error?["code"]?.string, error?["type"]?.string].compactMap(\.self).filter(\.isPlainName)
    let code: Code =
      switch response.status {
      case 400 where names.contains("context_length_exceeded"): .contextTooLong
      case 400, 422: .invalidRequest
      case 401: .unauthorized
      case 402: .quotaExceeded
      case 403: .forbidden
      case 404: .modelNotFound
      case 408, 409, 425: .conflict
      case 413: .tooLarge
      case 429 where names.contains("insufficient_quota") || names.contains("billing_hard_limit_reached"): .quotaExceeded
      case 429: .rateLimited
      case 503, 529: .overloaded
      case 500...: .serverFailed
      default: .refused
      }
    // The server knows more than its status tells, and OpenAI's own clients obey it.
    let isPermanent =
      switch response.headers["x-should-retry"] {
      case "true": false
      case "false": true
      default: code.isPermanent
      }
    self.init(
      code, status: response.status, reason: names.first,
      retryAfter: isPermanent ? nil : RateLimitReset.wait(response.headers, unixSeconds: unixSeconds),
      requestID: response.requestID,
      // A gateway answers 502 and 504 for a server that may be done; 503 and 529 turn requests away before they begin.
      mayHaveTakenEffect: code == .serverFailed, isPermanent: isPermanent)
  }

  /// An answer with status 200 that cannot be read: it is paid for.
  static func malformed(_ response: HTTPResponse, _ what: String) -> ProviderError {
    ProviderError(
      .malformedAnswer, status: response.status, reason: what, requestID: response.requestID, mayHaveTakenEffect: true)
  }
}

extension HTTPResponse {
  /// The server's id of the request, where it is short enough to be one.
  var requestID: String? { headers["x-request-id"].flatMap { $0.utf8.count <= 128 ? $0 : nil } }
}
