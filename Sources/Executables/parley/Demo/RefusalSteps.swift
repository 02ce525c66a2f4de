import EventLoop
import JSON
import Outbound
import ParleyAPI
import RPC

/// Tokens and callers that are turned away.
enum RefusalSteps {
  static let all = [
    badToken("wrong audience", ["aud": "somebody-else.apps.googleusercontent.com"]),
    badToken("expired", ["expiresIn": -120]),
    badToken("unsigned", ["alg": "none"]),
    badToken("HS256 with the public key", ["alg": "HS256-public-key"]),
    DemoStep("over the limit") { try await overTheLimit($0) },
  ]

  /// A bad token gets one and the same answer, over gRPC and HTTP, whatever is wrong with it.
  private static func badToken(_ title: String, _ defect: JSONObject) -> DemoStep {
    DemoStep(title) { stage in
      // Without its defect the token is good: nothing else is what it is refused for.
      _ = try await stage.broker.whoAmI(options: stage.options(try await stage.idToken(of: "bad")))
      let token = try await stage.idToken(of: "bad", defect)
      let text = "invalid id token"
      let error = try await refusal { _ = try await stage.broker.exchangeToken(options: stage.options(token)) }
      guard let error, error.code == .unauthenticated, error.message == text else {
        throw StepFailure(expected: "UNAUTHENTICATED: \(text)", came: error.map { "\($0)" } ?? "a token")
      }
      let response = try await stage.get("\(stage.places.edgeHTTPS)/token", bearer: token)
      let body = String(decoding: response.body.split(separator: UInt8(ascii: "\n")).first ?? [], as: UTF8.self)
      guard response.status == 401, body == text else {
        throw StepFailure(expected: "401 \(text)", came: "\(response.status) \(body)")
      }
      return "gRPC \(error.code.name), HTTP 401, both '\(text)'"
    }
  }

  /// 40 calls at once by one person whose bucket holds 30 and gains one a second.
  private static func overTheLimit(_ stage: DemoStage) async throws -> String {
    let (calls, burst) = (40, 30)
    let token = try await stage.idToken(of: "eager")
    let started = MonotonicInstant.now()
    let errors = await errors(ofCallsAtOnce: calls, stage, token)
    let seconds = Int(MonotonicInstant.now().duration(since: started) / .seconds(1))
    let passed = calls - errors.count
    let unexpected = errors.first { error in
      error.code != .resourceExhausted || error.reason != "RATE_LIMITED_USER" || (error.retryAfter ?? .zero) < .seconds(1)
    }
    if let unexpected { throw StepFailure(expected: "RESOURCE_EXHAUSTED with a time to wait", came: "\(unexpected)") }
    guard (burst...burst + seconds + 1).contains(passed) else {
      throw StepFailure(expected: "\(burst) of \(calls) calls at once to pass", came: "\(passed)")
    }
    let wait = try await waitAtTheEdge(stage, token)
    return "\(passed) of \(calls) at once passed, \(errors.count) RESOURCE_EXHAUSTED; at the edge 429, Retry-After: \(wait)"
  }

  private static func errors(ofCallsAtOnce count: Int, _ stage: DemoStage, _ token: String) async -> [RPCError] {
    await withTaskGroup(of: RPCError?.self) { group in
      for _ in 0..<count {
        group.addTask {
          do throws(RPCError) {
            _ = try await stage.broker.whoAmI(options: stage.options(token, from: stage.crowdedAddress))
          } catch {
            return error
          }
          return nil
        }
      }
      var errors: [RPCError] = []
      for await error in group { if let error { errors.append(error) } }
      return errors
    }
  }

  /// The same person at the edge, whichever copy answers there. A second may have earned a call or two meanwhile.
  private static func waitAtTheEdge(_ stage: DemoStage, _ token: String) async throws -> Int {
    var last = "nothing"
    for _ in 0..<5 {
      let response = try await stage.get("\(stage.places.edgeHTTPS)/whoami", bearer: token)
      if response.status == 429, let wait = response.headers["retry-after"].flatMap({ Int($0) }), wait >= 1 { return wait }
      last = "\(response.status)"
    }
    throw StepFailure(expected: "429 with Retry-After at the edge", came: last)
  }
}
