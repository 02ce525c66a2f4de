internal import EventLoop
internal import Logging
internal import OpenID
internal import Outbound

/// Asks an endpoint for a token, again where that may help.
///
/// Three attempts within its timeout: after a network failure, 408, 429, 500, 503, 504, or an error that says that it will pass;
/// 1 s and 2 s apart, give or take a tenth.
struct TokenExchange: Sendable {
  /// Reads an answer that came at some moment.
  typealias Reading<Value> = (HTTPResponse, MonotonicInstant) -> Result<Value, TokenAnswer.Failure>

  /// How long all attempts may take together.
  let timeout: Duration
  let http: any HTTPSending
  let clock: ProviderClock
  let log: Logger

  /// What the endpoint hands out.
  ///
  /// - Parameters:
  ///   - read: What becomes of an answer.
  ///   - request: Makes the request, anew for each attempt: what it shows may be dated.
  func run<Value>(
    _ read: Reading<Value>, request: () async throws(MintError) -> HTTPRequest
  ) async throws(MintError) -> Value {
    let deadline = clock.now().advanced(by: timeout)
    let attempts = Attempts("minting again", pause: .seconds(1), share: 0.9, spread: 0.2, clock: clock, log: log)
    return try await attempts.run(until: deadline, cancelled: MintError(.cancelled)) { () async throws(MintError) in
      switch try await ask(try await request(), until: deadline, read) {
      case .success(let value): .success(value)
      case .failure(let found): .failure(found.error, again: found.mayPass ? .zero : nil)
      }
    }
  }

  private func ask<Value>(
    _ request: HTTPRequest, until deadline: MonotonicInstant, _ read: Reading<Value>
  ) async throws(MintError) -> Result<Value, TokenAnswer.Failure> {
    var request = request
    request.deadline = deadline
    request.timeout = timeout
    request.maximumResponseSize = 1 << 20
    request.retry = RetryPolicy.never
    let response: HTTPResponse
    do { response = try await http.send(request) } catch {
      if error.code == .cancelled { throw MintError(.cancelled) }
      let mayPass = [.connectFailed, .connectionLost, .timeout].contains(error.code)
      return .failure(.init(error: MintError(.unreachable, detail: "\(error.code)"), mayPass: mayPass))
    }
    return read(response, clock.now())
  }
}

extension HTTPRequest {
  /// A form to a token endpoint.
  static func form(_ url: String, _ fields: String) -> HTTPRequest {
    HTTPRequest(
      .post, url, headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
      body: Array(fields.utf8))
  }
}
