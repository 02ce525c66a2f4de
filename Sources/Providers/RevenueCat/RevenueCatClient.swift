internal import EventLoop
internal import JSON
public import Logging
public import OpenID
internal import Outbound

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

  private static let attempts = 3
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
    var attempt = 1
    while true {
      let failure: Failure
      do throws(Failure) { return try await ask(id, until: deadline, patience) } catch { failure = error }
      guard let least = failure.wait, attempt < Self.attempts else { throw failure.error }
      let pause = max(least, Duration.milliseconds(200) * (1 << (attempt - 1)) * (0.5 + 0.5 * clock.random()))
      guard clock.now().advanced(by: pause) < deadline else { throw failure.error }
      log.warning(
        "asking RevenueCat again", metadata: ["attempt": "\(attempt)", "error": "\(failure.error)", "pause": "\(pause)"])
      do { try await clock.sleep(pause) } catch { throw RevenueCatError(.cancelled) }
      attempt += 1
    }
  }

  private func ask(
    _ id: String, until deadline: MonotonicInstant, _ patience: Duration
  ) async throws(Failure) -> RevenueCatSubscriber {
    var request = HTTPRequest(
      .get, base + "/v1/subscribers/" + Self.escaped(id),
      headers: ["Authorization": "Bearer \(key)", "Accept": "application/json"])
    request.deadline = deadline
    request.timeout = patience
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch {
      if error.code == .cancelled { throw Failure(error: RevenueCatError(.cancelled), wait: nil) }
      let mayPass = [.connectFailed, .connectionLost, .timeout].contains(error.code)
      throw Failure(error: RevenueCatError(.unavailable, detail: "\(error.code)"), wait: mayPass ? .zero : nil)
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

  /// Everything but the unreserved characters (RFC 3986, section 2.3) as `%XX`.
  static func escaped(_ id: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var escaped: [UInt8] = []
    for byte in id.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: escaped.append(byte)
      default: escaped += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }
}
