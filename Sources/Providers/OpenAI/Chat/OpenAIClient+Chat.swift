internal import JSON
public import OpenID
internal import Outbound

extension OpenAIClient {
  /// The next message of a chat.
  ///
  /// - Throws: ``OpenID/ProviderError`` when there is none. An answer that is refused, cut off or no JSON is an answer: see
  ///   ``ChatAnswer/outcome``.
  public func chat(_ request: ChatRequest) async throws(ProviderError) -> ChatAnswer {
    let response = try await post(
      ChatBody(settings).document(of: request).encoded(), "application/json", to: settings.chatPath, requestID: request.requestID,
      timeout: request.timeout ?? settings.chatTimeout, deadline: request.deadline, maximumResponseSize: 4 << 20)
    guard let answer = ChatAnswer(response, to: request) else { throw .malformed(response, "no_choice") }
    return answer
  }
}

/// The body of a request, as one server wants it.
struct ChatBody {
  private let settings: OpenAISettings

  init(_ settings: OpenAISettings) { self.settings = settings }

  func document(of request: ChatRequest) -> JSONValue {
    var messages = request.messages
    var document: JSONObject = ["model": .string(request.model)]
    if let schema = request.schema {
      switch settings.structuredOutput {
      case .jsonSchema:
        document["response_format"] = [
          "type": "json_schema",
          "json_schema": ["name": .string(schema.name), "strict": true, "schema": .object(schema.schema)],
        ]
      case .jsonObject:
        // Such servers want the word JSON in the prompt, and know the form only from there.
        let form = "Answer with one JSON object and nothing else. It follows this JSON schema: "
        messages.insert(ChatMessage(.system, form + "\(JSONValue.object(schema.schema))"), at: 0)
        document["response_format"] = ["type": "json_object"]
      }
    }
    document["messages"] = .array(
      messages.map { ["role": .string($0.role.rawValue), "content": .string($0.content)] })
    if let tokens = request.maximumTokens { document[settings.tokenLimit.rawValue] = .number(JSONNumber(tokens)) }
    if let temperature = request.temperature.flatMap({ JSONNumber($0) }) { document["temperature"] = .number(temperature) }
    if let seed = request.seed { document["seed"] = .number(JSONNumber(seed)) }
    return .object(document)
  }
}

extension ChatAnswer {
  /// Reads an answer, leniently: `finish_reason` may be absent, `usage` too, and `content` null or empty.
  init?(_ response: HTTPResponse, to request: ChatRequest) {
    guard let document = try? JSONParser.parse(response.body), let choice = document["choices"]?.array?.first,
      let message = choice["message"], message.object != nil
    else { return nil }
    text = message["content"]?.string ?? ""
    finishReason = choice["finish_reason"]?.string ?? ""
    outcome = Self.outcome(
      text, refusal: message["refusal"]?.string ?? "", finishReason, wantsDocument: request.schema != nil)
    usage = document["usage"].flatMap { usage in
      guard let prompt = usage["prompt_tokens"]?.int64 else { return nil }
      return Usage(
        promptTokens: Int(prompt), completionTokens: Int(usage["completion_tokens"]?.int64 ?? 0),
        cachedTokens: Int(usage["prompt_tokens_details"]?["cached_tokens"]?.int64 ?? 0),
        reasoningTokens: Int(usage["completion_tokens_details"]?["reasoning_tokens"]?.int64 ?? 0))
    }
    model = document["model"]?.string.flatMap { $0.isEmpty ? nil : $0 } ?? request.model
    requestID = response.requestID
  }

  private static func outcome(
    _ text: String, refusal: String, _ finishReason: String, wantsDocument: Bool
  ) -> Outcome {
    if !refusal.isEmpty { return .refusal(refusal) }
    switch finishReason {
    case "length": return .truncated
    case "content_filter": return .filtered
    default: break
    }
    guard wantsDocument else { return .text(text) }
    return (try? JSONParser.parse(unfenced(text)))?.object.map { .document($0) } ?? .malformed
  }

  /// Without the fence of three backticks that models set around JSON when nothing holds them to it.
  private static func unfenced(_ text: String) -> String {
    var lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
    while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
    while lines.first?.allSatisfy(\.isWhitespace) == true { lines.removeFirst() }
    guard lines.count > 2, lines.first?.hasPrefix("```") == true, lines.last == "```" else { return text }
    return lines[1..<(lines.count - 1)].joined(separator: "\n")
  }
}
