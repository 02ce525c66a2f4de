internal import EventLoop
internal import JSON
public import Logging
public import OpenID
internal import Outbound
internal import RPC

/// Asks RevenueCat's first API for customers.
///
/// Three attempts within the time given: after a network failure, 408, 429 and 5xx. After 429 it waits as long as the body's
/// `backoff_ms` says, else `Retry-After`; when that is longer than there is time, it gives up at once.
public final class RevenueCatClient: Sendable {
  /// How an attempt ended that gave no subscriber.
  private struct Failure: Error {
    let error: RevenueCatError
    /// The least wait before the next attempt; nil when there is no use in one.
    let wait: Duration?
  }

  private static let passingStatuses: Set<Int> = [408, 429, 500, 502, 503, 504]

  private let key: String
  private let base: String
  private let http: any HTTPSending
  private let clock: ProviderClock
  private let log: Logger

  /// A client.
  ///
  /// - Parameters:
  ///   - key: The secret key for the first API. It is sent as bearer token and shown nowhere.
  ///   - base: Where the API is: `https://api.revenuecat.com`.
  ///   - http: The way out.
  ///   - clock: Time and chance.
  ///   - log: Who is told of failed attempts.
  public init(key: String, base: String, over http: any HTTPSending, clock: ProviderClock, log: Logger) {
    self.key = key
    self.base = base.hasSuffix("/") ? String(base.dropLast()) : base
    self.http = http
    self.clock = clock
    self.log = log
  }

  /// What is on record of a customer. RevenueCat makes one where there was none.
  ///
  /// - Parameters:
  ///   - id: Any of the customer's ids.
  ///   - patience: How long all attempts may take together.
  public func subscriber(_ id: String, within patience: Duration) async throws(RevenueCatError) -> RevenueCatSubscriber {
    let deadline = clock.now().advanced(by: patience)
    let attempts = Attempts(
      "asking RevenueCat again", pause: .milliseconds(200), share: 0.5, spread: 0.5, clock: clock, log: log)
    return try await attempts.run(until: deadline, cancelled: RevenueCatError(.cancelled)) {
      () async throws(RevenueCatError) in
      do throws(Failure) { return .success(try await ask(id, until: deadline, patience)) } catch {
        return .failure(error.error, again: error.wait)
      }
    }
  }

  private func ask(
    _ id: String, until deadline: MonotonicInstant, _ patience: Duration
  ) async throws(Failure) -> RevenueCatSubscriber {
    var request = HTTPRequest(
      .get, base + "/v1/subscribers/" + QueryEncoding.encode(id.utf8),
      headers: ["Authorization": "Bearer \(key)", "Accept": "application/json"])
    request.deadline = deadline
    request.timeout = patience
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch {
      if error.code == .cancelled { throw Failure(error: RevenueCatError(.cancelled), wait: nil) }
      throw Failure(error: RevenueCatError(.unavailable, detail: "\(error.code)"), wait: error.mayPass ? .zero : nil)
    }
    // 201 says that the customer is new.
    guard response.status == 200 || response.status == 201 else { throw Self.failure(response) }
    do throws(RevenueCatError) { return try RevenueCatSubscriber(parsing: response.body) } catch {
      throw Failure(error: error, wait: nil)
    }
  }

  private static func failure(_ response: HTTPResponse) -> Failure {
    let body = try? JSONParser.parse(response.body)
    // RevenueCat's messages may quote the question; its numbers do not.
    let number = body?["code"]?.int64.map { " code \($0)" } ?? ""
    let mayPass = passingStatuses.contains(response.status)
    let error = RevenueCatError(mayPass ? .unavailable : .refused, detail: "status \(response.status)\(number)")
    guard mayPass else { return Failure(error: error, wait: nil) }
    // The unit of `Retry-After` changed once, so the body counts first.
    if let backoff = body?["backoff_ms"]?.int64 {
      return Failure(error: error, wait: .milliseconds(max(0, min(backoff, 1 << 40))))
    }
    if let seconds = response.headers["retry-after"].flatMap({ Int64($0) }) {
      return Failure(error: error, wait: .seconds(max(0, min(seconds, 1 << 30))))
    }
    return Failure(error: error, wait: .zero)
  }
}
