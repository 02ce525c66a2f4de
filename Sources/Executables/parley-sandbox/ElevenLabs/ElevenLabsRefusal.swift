import JSON
import RPCServer

/// An error as ElevenLabs tells it, in one of its three forms.
struct ElevenLabsRefusal: Error {
  let status: Int
  let detail: JSONValue

  /// The form of today.
  init(_ status: Int, _ type: String, _ code: String, _ message: String) {
    self.status = status
    detail = [
      "type": .string(type), "code": .string(code), "message": .string(message), "status": .string(code),
      "request_id": "sandbox",
    ]
  }

  /// The older form, which some answers still have.
  init(old status: Int, _ name: String, _ message: String) {
    self.status = status
    detail = ["status": .string(name), "message": .string(message)]
  }

  /// Fields that are missing or wrong, by name.
  init(fields: [(name: String, message: String)]) {
    status = 422
    detail = .array(fields.map { ["loc": ["body", .string($0.name)], "msg": .string($0.message), "type": "missing"] })
  }

  static let wrongKey = ElevenLabsRefusal(401, "authentication_error", "invalid_api_key", "Invalid API key")

  static func noVoice(_ id: String) -> ElevenLabsRefusal {
    ElevenLabsRefusal(old: 400, "voice_not_found", "A voice for the voice_id '\(id)' was not found.")
  }

  /// What the API answers with that status when nothing more is known.
  static func fault(_ status: Int, _ code: String?) -> HTTPServerResponse {
    let name = code ?? usual[status] ?? "internal_error"
    // A spent quota is still told in the older form.
    return name == "quota_exceeded"
      ? ElevenLabsRefusal(old: status, name, "The sandbox was told to fail.").response
      : ElevenLabsRefusal(status, "sandbox_error", name, "The sandbox was told to fail.").response
  }

  private static let usual = [
    400: "invalid_parameters", 401: "invalid_api_key", 404: "voice_not_found", 429: "rate_limit_exceeded", 503: "system_busy",
  ]

  var response: HTTPServerResponse { .json(["detail": detail], status: status) }
}
