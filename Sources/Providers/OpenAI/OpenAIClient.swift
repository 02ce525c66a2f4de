internal import EventLoop
internal import Glibc
internal import JSON
internal import Multipart
public import OpenID
internal import Outbound

/// Asks an OpenAI-compatible server for the words of a recording, or for the answer to a chat.
///
/// Nothing is sent twice: a POST whose answer is lost may be paid for already. Whoever asks decides, by
/// ``OpenID/ProviderError/isPermanent``, ``OpenID/ProviderError/mayHaveTakenEffect`` and ``OpenID/ProviderError/retryAfter``.
public final class OpenAIClient: Sendable {
  let settings: OpenAISettings
  private let http: any HTTPSending
  private let unixSeconds: @Sendable () -> Int64

  /// A client.
  ///
  /// - Parameters:
  ///   - settings: Which server is asked, and what it can do.
  ///   - http: The way out.
  ///   - unixSeconds: The time of day, in seconds since 1970, for waits that are told as a date; nil for the machine's.
  public init(
    _ settings: OpenAISettings, over http: any HTTPSending, unixSeconds: (@Sendable () -> Int64)? = nil
  ) {
    self.settings = settings
    self.http = http
    self.unixSeconds = unixSeconds ?? { Int64(time(nil)) }
  }

  /// Sends a body and gives back the answer with status 200.
  func post(
    _ body: [UInt8], _ contentType: String, to path: String, requestID: String, timeout: Duration,
    deadline: MonotonicInstant?, maximumResponseSize: Int
  ) async throws(ProviderError) -> HTTPResponse {
    var request = HTTPRequest(
      .post, settings.base + path,
      headers: [
        "Authorization": "Bearer \(settings.key.isEmpty ? "none" : settings.key)", "Content-Type": contentType,
        "Accept": "application/json", "X-Client-Request-Id": requestID,
      ], body: body)
    if let name = settings.idempotencyHeader { request.headers[name] = requestID }
    request.timeout = timeout
    request.deadline = deadline
    request.maximumResponseSize = maximumResponseSize
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch { throw ProviderError(error) }
    guard response.status == 200 else { throw ProviderError(response, unixSeconds: unixSeconds()) }
    return response
  }
}
