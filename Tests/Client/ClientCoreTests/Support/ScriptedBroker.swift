import ClientCore
import Foundation
import ParleyAPI
import RPC
import RPCInProcess
import Synchronization

/// A broker that hands out `token-1`, `token-2`, … for an hour each, unless a test says otherwise.
final class ScriptedBroker: TokenBrokerService.Handlers {
  typealias Answer = @Sendable (_ number: Int, _ authorization: String) async throws -> ExchangeTokenResponse

  private struct State {
    var calls: [(capability: String, authorization: String)] = []
    var whoAmI = 0
    var answer: Answer = { number, _ in .init(accessToken: "token-\(number)", tokenType: "Bearer", expiresIn: 3600) }
  }

  private let state = Mutex(State())

  init() {}

  init(_ answer: @escaping Answer) { self.answer(answer) }

  /// The exchanges so far.
  var exchanges: [(capability: String, authorization: String)] { state.withLock { $0.calls } }
  var whoAmICalls: Int { state.withLock { $0.whoAmI } }

  /// From now on exchanges are answered so.
  func answer(_ answer: @escaping Answer) { state.withLock { $0.answer = answer } }

  /// A way to it without a socket.
  var channel: InProcessChannel { InProcessChannel(services: [TokenBrokerService.routes(self)]) }

  func exchangeToken(_ request: ExchangeTokenRequest, _ call: CallContext) async throws -> ExchangeTokenResponse {
    let authorization = call.metadata["authorization"] ?? ""
    let (number, answer) = state.withLock { state in
      state.calls.append((request.capability, authorization))
      return (state.calls.count, state.answer)
    }
    return try await answer(number, authorization)
  }

  func whoAmI(_ request: WhoAmIRequest, _ call: CallContext) async throws -> WhoAmIResponse {
    state.withLock { $0.whoAmI += 1 }
    guard call.metadata["authorization"]?.hasSuffix("forged") == false else { throw RPCError(.unauthenticated, "invalid token") }
    return WhoAmIResponse(sub: "sub-1", email: "ana@example.org")
  }
}

/// Somebody who is signed in with Google, or not.
final class ScriptedPerson: IDTokenProviding {
  private let state: Mutex<(current: String?, next: String?, refreshes: Int)>

  init(_ current: String?, next: String? = nil) { state = Mutex((current, next, 0)) }

  var refreshes: Int { state.withLock { $0.refreshes } }

  func currentIDToken() async throws -> String? { state.withLock { $0.current } }

  func refreshedIDToken() async throws -> String? {
    state.withLock { state in
      state.refreshes += 1
      state.current = state.next
      return state.next
    }
  }

  /// A JWT that runs out at `expiry`; its signature is nobody's.
  static func jwt(until expiry: Date, _ name: String = "ana") -> String {
    let claims = #"{"sub":"\#(name)","exp":\#(Int(expiry.timeIntervalSince1970))}"#
    let text = Data(claims.utf8).base64EncodedString().filter { $0 != "=" }
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    return "eyJhbGciOiJSUzI1NiJ9.\(text).c2lnbmF0dXJl"
  }
}

/// The lines of a ``DebugLog``.
final class LogLines: Sendable {
  private let lines = Mutex<[DebugLog.Line]>([])

  var all: [DebugLog.Line] { lines.withLock { $0 } }
  var messages: [String] { all.map(\.message) }
  var log: DebugLog { DebugLog { [self] line in lines.withLock { $0.append(line) } } }
}

/// The error that `body` throws, if it is of this type.
func failure<Failure: Error>(_ type: Failure.Type, _ body: () async throws -> Void) async -> Failure? {
  do { try await body() } catch { return error as? Failure }
  return nil
}
