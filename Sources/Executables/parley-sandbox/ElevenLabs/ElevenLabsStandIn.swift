import JSON
import RPC
import RPCServer
import Synchronization

/// ElevenLabs as far as the services know it: voices that are cloned, found and removed. It does not know a repeated request: who asks
/// twice has two voices.
final class ElevenLabsStandIn: Sendable {
  /// The path by which cloning is counted and told to fail.
  static let addPath = "/elevenlabs/v1/voices/add"
  /// The path by which questions for all voices are counted and told to fail.
  static let listPath = "/elevenlabs/v2/voices"
  /// The path by which the older question for all voices at once is counted and told to fail.
  static let wholeListPath = "/elevenlabs/v1/voices"
  /// The path by which questions for one voice are counted and told to fail.
  static let voicePath = "/elevenlabs/voice"
  /// The path by which removals are counted and told to fail.
  static let deletionPath = "/elevenlabs/voice-deletion"

  private struct State {
    var made = 0
    var limit = 1_000
    var requiresVerification = false
    var deletions = 0
    var voices: [(id: String, voice: ClonedVoice)] = []
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
      route("POST", Self.addPath, aliases: ["/v1/voices/add"]) { request throws(ElevenLabsRefusal) in try self.add(request) },
      route("GET", Self.listPath, aliases: ["/v2/voices"]) { request throws(ElevenLabsRefusal) in
        .json(try VoicePage(request).document(of: self.voices))
      }, route("GET", Self.wholeListPath, aliases: ["/v1/voices"]) { _ in .json(self.document) },
      route("GET", Self.voicePath, patterns: Self.patterns) { request throws(ElevenLabsRefusal) in
        let id = Self.id(request)
        let (found, isRequired) = self.state.withLock { state in
          (state.voices.first { $0.id == id }, state.requiresVerification)
        }
        guard let found else { throw .noVoice(id) }
        return .json(found.voice.document(id, requiresVerification: isRequired))
      },
      route("DELETE", Self.deletionPath, patterns: Self.patterns) { request throws(ElevenLabsRefusal) in
        let id = Self.id(request)
        let isGone = self.state.withLock { state in
          guard let index = state.voices.firstIndex(where: { $0.id == id }) else { return false }
          state.voices.remove(at: index)
          state.deletions += 1
          return true
        }
        guard isGone else { throw .noVoice(id) }
        return .json(["status": "ok"])
      },
    ]
  }

  // MARK: Steering

  /// How many voices there are.
  var count: Int { state.withLock { $0.voices.count } }

  /// How many were removed.
  var deletions: Int { state.withLock { $0.deletions } }

  /// All voices, as the API shows them.
  var document: JSONValue { ["voices": .array(voices)] }

  private var voices: [JSONValue] {
    state.withLock { state in
      state.voices.map { $0.voice.document($0.id, requiresVerification: state.requiresVerification) }
    }
  }

  /// Forgets how many were removed.
  func forgetDeletions() { state.withLock { $0.deletions = 0 } }

  /// Forgets all voices.
  func reset() { state.withLock { $0.voices = [] } }

  /// How many voices there may be from now on.
  func allow(_ limit: Int) { state.withLock { $0.limit = limit } }

  /// Whether a voice does not speak before somebody has proved that it is theirs: from now on, and of all that are there.
  func requireVerification(_ isRequired: Bool) { state.withLock { $0.requiresVerification = isRequired } }

  // MARK: Answers

  private func add(_ request: HTTPServerRequest) throws(ElevenLabsRefusal) -> HTTPServerResponse {
    let voice = try ClonedVoice(request)
    let id = state.withLock { state -> String? in
      guard state.voices.count < state.limit else { return nil }
      state.made += 1
      let id = "voice\(state.made)\(voice.hash.prefix(12))"
      state.voices.append((id, voice))
      return id
    }
    guard let id else {
      throw .init(old: 400, "voice_limit_reached", "You have reached your maximum amount of custom voices.")
    }
    effects.pay(.voices, voice.hash, request.header("x-client-request-id"))
    let isRequired = state.withLock { $0.requiresVerification }
    return .json(["voice_id": .string(id), "requires_verification": .bool(isRequired)])
  }

  private static let patterns = [
    PathPattern(prefix: wholeListPath + "/", suffix: ""), PathPattern(prefix: "/v1/voices/", suffix: ""),
  ]

  private static func id(_ request: HTTPServerRequest) -> String {
    PercentEncoding.decode(request.path.utf8.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? [])
  }

  private func route(
    _ method: String, _ path: String, aliases: [String] = [], patterns: [PathPattern] = [],
    _ answer: @escaping @Sendable (HTTPServerRequest) throws(ElevenLabsRefusal) -> HTTPServerResponse
  ) -> StandInRoute {
    var route = StandInRoute(method: method, path: path, aliases: aliases, patterns: patterns) { [key] request in
      do throws(ElevenLabsRefusal) {
        guard request.header("xi-api-key") == key else { throw .wrongKey }
        return try answer(request)
      } catch { return error.response }
    }
    route.refusal = ElevenLabsRefusal.fault
    return route
  }
}
