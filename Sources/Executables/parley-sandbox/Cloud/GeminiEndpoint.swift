import JSON
import RPCServer

/// Gemini: texts in, the last of them out as a sentence.
struct GeminiEndpoint {
  static let prefix = "/v1beta/models/"
  static let suffix = ":generateContent"
  static let models = ["gemini-2.0-flash", "gemini-2.5-flash"]

  let tokens: MintedTokens

  func answer(_ request: HTTPServerRequest, now: Int64) throws(CloudRefusal) -> HTTPServerResponse {
    _ = try CloudCaller.account(of: request, with: .gemini, tokens, at: now)
    let model = String(request.path.dropFirst(Self.prefix.count).dropLast(Self.suffix.count))
    guard Self.models.contains(model) else {
      throw .notFound("models/\(model) is not found for API version v1beta, or is not supported for generateContent.")
    }
    let contents = try CloudCaller.object(request)["contents"]?.array ?? []
    let texts = contents.flatMap { ($0["parts"]?.array ?? []).compactMap { $0["text"]?.string } }
    guard let last = texts.last, !contents.isEmpty else {
      throw .invalid("* GenerateContentRequest.contents: contents is not specified")
    }
    let answer = Self.sentence(last)
    let (asked, answered) = (texts.reduce(0) { $0 + words($1) }, words(answer))
    return .json([
      "candidates": [
        ["content": ["parts": [["text": .string(answer)]], "role": "model"], "finishReason": "STOP", "index": 0]
      ],
      "usageMetadata": [
        "promptTokenCount": .number(JSONNumber(asked)), "candidatesTokenCount": .number(JSONNumber(answered)),
        "totalTokenCount": .number(JSONNumber(asked + answered)),
      ], "modelVersion": .string(model), "responseId": "sandbox",
    ])
  }

  /// The text with a capital at its beginning and a full stop at its end.
  static func sentence(_ text: String) -> String {
    let isStopped = text.last.map { ".!?".contains($0) } ?? false
    return text.prefix(1).uppercased() + text.dropFirst() + (isStopped ? "" : ".")
  }

  private func words(_ text: String) -> Int { text.split { $0.isWhitespace }.count }
}
