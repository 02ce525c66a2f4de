import JOSE
import JSON
import RPCServer
import Synchronization

/// OpenAI as far as the services know it: words of recordings, and answers to chats. Both are always the same for the same input, unless
/// a test wished for others.
final class OpenAIStandIn: Sendable {
  /// The path by which transcriptions are counted and told to fail.
  static let transcriptionPath = "/openai/v1/audio/transcriptions"
  /// The path by which chats are counted and told to fail.
  static let chatPath = "/openai/v1/chat/completions"

  private struct State {
    var requests = 0
    var dialect = OpenAIDialect()
    /// By the hash of a recording; an empty text for one in which nobody speaks.
    var transcripts: [String: String] = [:]
    var chats: [WishedChat] = []
    /// What requests with a key were answered, by path and key.
    var keyed: [String: HTTPServerResponse] = [:]
  }

  private let key: String
  private let effects: PaidEffects
  private let state = Mutex(State())

  /// It takes one key, and tells `effects` what it did.
  init(key: String, effects: PaidEffects) {
    self.key = key
    self.effects = effects
  }

  /// What is served, by its paths.
  var routes: [StandInRoute] {
    [
      route(Self.transcriptionPath, ["/v1/audio/transcriptions", "/inference"], .transcriptions) {
        request, dialect throws(OpenAIRefusal) in
        let asked = try TranscriptionEndpoint(request, dialect)
        self.effects.pay(.transcriptions, asked.hash, request.header("x-client-request-id"))
        return asked.answer(self.state.withLock { $0.transcripts[asked.hash] })
      },
      route(Self.chatPath, ["/v1/chat/completions"], .chats) { request, dialect throws(OpenAIRefusal) in
        let asked = try ChatEndpoint(request, dialect)
        self.effects.pay(.chats, asked.hash, request.header("x-client-request-id"))
        return asked.answer(self.nextChat())
      },
    ]
  }

  // MARK: Steering

  /// What it knows of the API from now on.
  func speak(_ dialect: OpenAIDialect) { state.withLock { $0.dialect = dialect } }

  /// What is said in the recording of that hash from now on.
  func know(_ text: String, in hash: String) { state.withLock { $0.transcripts[hash] = text } }

  /// Forgets what is said in recordings.
  func forgetTranscripts() { state.withLock { $0.transcripts = [:] } }

  /// What one of the next chats is answered with.
  func plan(_ chat: WishedChat) { state.withLock { $0.chats.append(chat) } }

  /// Forgets what chats are to be answered with.
  func forgetChats() { state.withLock { $0.chats = [] } }

  private func nextChat() -> WishedChat? {
    state.withLock { state in
      guard var chat = state.chats.first else { return nil }
      chat.count -= 1
      if chat.count > 0 { state.chats[0] = chat } else { state.chats.removeFirst() }
      return chat
    }
  }

  /// As gateways do it, and OpenAI itself does not: a request with a key is answered, and paid, once.
  private func once(
    _ path: String, _ key: String?, _ answer: () throws(OpenAIRefusal) -> HTTPServerResponse
  ) throws(OpenAIRefusal) -> HTTPServerResponse {
    guard let key else { return try answer() }
    let place = "\(path) \(key)"
    if let known = state.withLock({ $0.keyed[place] }) { return known }
    let response = try answer()
    state.withLock { $0.keyed[place] = response }
    return response
  }

  private func route(
    _ path: String, _ aliases: [String], _ work: OpenAIDialect.Work,
    _ answer: @escaping @Sendable (HTTPServerRequest, OpenAIDialect) throws(OpenAIRefusal) -> HTTPServerResponse
  ) -> StandInRoute {
    var route = StandInRoute(method: "POST", path: path, aliases: aliases) { [key] request in
      let dialect = self.state.withLock { $0.dialect }
      var response: HTTPServerResponse
      do throws(OpenAIRefusal) {
        guard (dialect.serves ?? work) == work else { throw .nothingHere }
        guard request.header("authorization") == "Bearer \(key)" else { throw .wrongKey }
        response = try self.once(path, request.header("idempotency-key")) { () throws(OpenAIRefusal) in
          try answer(request, dialect)
        }
      } catch { response = error.response }
      let number = self.state.withLock { state in
        state.requests += 1
        return state.requests
      }
      response.headers.append(("x-request-id", "req_sandbox\(number)"))
      return response
    }
    route.refusal = OpenAIRefusal.fault
    return route
  }
}
