import JSON
import RPCServer

/// An error as OpenAI's API tells it.
struct OpenAIRefusal: Error {
  let status: Int
  let code: String?
  let message: String
  var parameter: String?

  static func invalid(_ message: String, _ parameter: String? = nil, code: String? = nil) -> OpenAIRefusal {
    OpenAIRefusal(status: 400, code: code, message: message, parameter: parameter)
  }

  static let wrongKey = OpenAIRefusal(status: 401, code: "invalid_api_key", message: "Incorrect API key provided.")

  static func noModel(_ name: String) -> OpenAIRefusal {
    OpenAIRefusal(
      status: 404, code: "model_not_found", message: "The model `\(name)` does not exist or you do not have access to it.")
  }

  /// A server that is for something else.
  static let nothingHere = OpenAIRefusal(status: 404, code: nil, message: "Not Found")

  /// What the API answers with that status when nothing more is known.
  static func fault(_ status: Int, _ code: String?) -> HTTPServerResponse {
    OpenAIRefusal(status: status, code: code ?? usual[status], message: "The sandbox was told to fail.").response
  }

  private static let usual = [401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"]

  var response: HTTPServerResponse {
    let type =
      switch status {
      case 429: code == "insufficient_quota" ? "insufficient_quota" : "requests"
      case 500...: "server_error"
      default: "invalid_request_error"
      }
    return .json(
      [
        "error": [
          "message": .string(message), "type": .string(type), "param": parameter.map { .string($0) } ?? .null,
          "code": code.map { .string($0) } ?? .null,
        ]
      ], status: status)
  }
}
