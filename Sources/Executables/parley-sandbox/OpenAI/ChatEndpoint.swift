import JOSE
import JSON
import RPCServer

/// A chat that is to go on, read as strictly as can be.
struct ChatEndpoint {
  private static let fields: Set<String> = [
    "model", "messages", "response_format", "max_tokens", "max_completion_tokens", "temperature", "seed",
  ]
  private static let contextTokens = 128_000

  /// The SHA-256 of the messages.
  let hash: String
  private let model: String
  private let promptTokens: Int
  private let maximumTokens: Int?
  /// The schema of the answer; nil for text.
  private let schema: JSONValue?

  init(_ request: HTTPServerRequest, _ dialect: OpenAIDialect) throws(OpenAIRefusal) {
    guard let body = try? JSONParser.parse(request.body).object else {
      throw .invalid("We could not parse the JSON body of your request.")
    }
    for member in body where !Self.fields.contains(member.name) {
      throw .invalid("Unrecognized request argument supplied: \(member.name)", member.name, code: "unknown_parameter")
    }
    guard let model = body["model"]?.string, !model.isEmpty else { throw .invalid("you must provide a model parameter", "model") }
    guard model.hasPrefix("gpt-") else { throw .noModel(model) }
    guard let messages = body["messages"]?.array, !messages.isEmpty else {
      throw .invalid("Missing required parameter: 'messages'.", "messages", code: "missing_required_parameter")
    }
    for message in messages {
      guard let role = message["role"]?.string, ["developer", "system", "user", "assistant"].contains(role),
        message["content"]?.string != nil
      else { throw .invalid("Invalid value in 'messages'.", "messages", code: "invalid_value") }
    }
    if let temperature = body["temperature"], temperature.number?.double.map({ (0...2).contains($0) }) != true {
      throw .invalid("Invalid 'temperature'.", "temperature", code: "invalid_value")
    }
    if let seed = body["seed"], seed.int64 == nil { throw .invalid("Invalid 'seed'.", "seed", code: "invalid_type") }
    for name in ["max_tokens", "max_completion_tokens"] where body[name] != nil && (dialect.tokenLimit ?? name) != name {
      throw .invalid("Unsupported parameter: '\(name)'.", name, code: "unsupported_parameter")
    }
    guard dialect.knowsSchemas || body["response_format"]?["type"]?.string != "json_schema" else {
      throw .invalid("Invalid value: 'json_schema'.", "response_format.type", code: "invalid_value")
    }
    let limits = [body["max_tokens"], body["max_completion_tokens"]].compactMap(\.self)
    guard limits.count < 2, limits.allSatisfy({ ($0.int64 ?? 0) > 0 }) else {
      throw .invalid("Invalid 'max_completion_tokens'.", "max_completion_tokens", code: "invalid_value")
    }
    maximumTokens = limits.first?.int64.map(Int.init)
    let prompt = JSONValue.array(messages).encoded()
    promptTokens = Self.tokens(prompt.count)
    guard promptTokens <= Self.contextTokens else {
      throw .invalid(
        "This model's maximum context length is \(Self.contextTokens) tokens.", "messages", code: "context_length_exceeded")
    }
    schema = try body["response_format"].flatMap { format throws(OpenAIRefusal) in try Self.schema(format, messages) }
    hash = Hexadecimal.text(SHA256.digest(prompt))
    self.model = model
  }

  /// The answer: what a test wished for, else one that the messages make, in the form that was asked for.
  func answer(_ wish: WishedChat?) -> HTTPServerResponse {
    let usual = schema.map { "\(SchemaFiller(hash).value(of: $0))" } ?? "answer to \(hash.prefix(8))"
    switch wish?.kind {
    case nil: return choice(usual)
    case .content(let content): return choice(content)
    case .refusal(let refusal):
      return choice(nil, refusal: refusal, finishReason: "stop", tokens: Self.tokens(refusal.utf8.count))
    case .truncated: return choice(String(usual.prefix(usual.count / 2)), finishReason: "length")
    case .invalid: return choice("{\"this is\": no JSON")
    }
  }

  private func choice(_ content: String) -> HTTPServerResponse {
    let tokens = Self.tokens(content.utf8.count)
    guard let maximumTokens, tokens > maximumTokens else { return choice(content, finishReason: "stop", tokens: tokens) }
    return choice(String(content.prefix(maximumTokens * 4)), finishReason: "length", tokens: maximumTokens)
  }

  private func choice(_ content: String?, refusal: String? = nil, finishReason: String, tokens: Int? = nil) -> HTTPServerResponse
  {
    let tokens = tokens ?? Self.tokens(content?.utf8.count ?? 0)
    return .json([
      "id": .string("chatcmpl-\(hash.prefix(12))"), "object": "chat.completion", "created": 1_767_323_045,
      "model": .string(model),
      "choices": [
        [
          "index": 0,
          "message": [
            "role": "assistant", "content": content.map { .string($0) } ?? .null, "refusal": refusal.map { .string($0) } ?? .null,
          ], "logprobs": .null, "finish_reason": .string(finishReason),
        ]
      ],
      "usage": [
        "prompt_tokens": .number(JSONNumber(promptTokens)), "completion_tokens": .number(JSONNumber(tokens)),
        "total_tokens": .number(JSONNumber(promptTokens + tokens)), "prompt_tokens_details": ["cached_tokens": 0],
        "completion_tokens_details": ["reasoning_tokens": 0],
      ], "system_fingerprint": "fp_sandbox",
    ])
  }

  private static func tokens(_ bytes: Int) -> Int { (bytes + 3) / 4 }

  private static func schema(_ format: JSONValue, _ messages: [JSONValue]) throws(OpenAIRefusal) -> JSONValue? {
    switch format["type"]?.string {
    case "text": return nil
    case "json_object":
      let texts = messages.compactMap { $0["content"]?.string }
      guard texts.contains(where: { $0.lowercased().contains("json") }) else {
        throw .invalid(
          "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", "messages")
      }
      // A model would do as the prompt says: so does this one where a schema stands in it.
      return texts.lazy.compactMap { text in text.firstIndex(of: "{").flatMap { try? JSONParser.parse(String(text[$0...])) } }
        .first ?? [:]
    case "json_schema":
      let wanted = format["json_schema"]
      guard let name = wanted?["name"]?.string, (1...64).contains(name.utf8.count),
        name.utf8.allSatisfy({ $0 == 0x2d || $0 == 0x5f || (0x30...0x39).contains($0) || (0x41...0x5a).contains($0 & 0xdf) })
      else {
        throw .invalid("Invalid 'response_format.json_schema.name'.", "response_format.json_schema.name", code: "invalid_value")
      }
      guard let schema = wanted?["schema"], schema["type"]?.string == "object" else {
        throw .invalid(
          "Invalid schema for response_format '\(name)': schema must be a JSON Schema of 'type: \"object\"'", "response_format")
      }
      if wanted?["strict"]?.bool == true, let fault = StrictSchema.fault(schema) {
        throw .invalid("Invalid schema for response_format '\(name)': \(fault)", "response_format")
      }
      return schema
    default: throw .invalid("Invalid value: 'response_format.type'.", "response_format.type", code: "invalid_value")
    }
  }
}
