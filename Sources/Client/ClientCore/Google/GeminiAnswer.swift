public import JSON

/// What a model answered.
public struct GeminiAnswer: Sendable, Hashable {
  /// One answer.
  public struct Candidate: Sendable, Hashable {
    /// The text, without what the model only thought.
    public var text: String
    /// Why it ended: `STOP`, `MAX_TOKENS`, `SAFETY`, …
    public var finishReason: String
    /// The parts as they came.
    public var parts: [JSONValue]
  }

  /// What was used up, in tokens.
  public struct Usage: Sendable, Hashable {
    /// By the question.
    public var prompt: Int
    /// By the answers.
    public var candidates: Int
    /// Altogether.
    public var total: Int
  }

  /// The answers; none when the question was blocked.
  public var candidates: [Candidate]
  /// Why the question was blocked; nil when it was not.
  public var blockReason: String?
  /// What was used up.
  public var usage: Usage?
  /// The model that answered.
  public var modelVersion: String?

  /// The text of the first answer; nil when there is none.
  public var text: String? { candidates.first?.text }

  init(_ json: JSONValue) {
    candidates = (json["candidates"]?.array ?? []).map { candidate in
      let parts = candidate["content"]?["parts"]?.array ?? []
      let text = parts.filter { $0["thought"]?.bool != true }.compactMap { $0["text"]?.string }.joined()
      return Candidate(text: text, finishReason: candidate["finishReason"]?.string ?? "", parts: parts)
    }
    blockReason = json["promptFeedback"]?["blockReason"]?.string
    modelVersion = json["modelVersion"]?.string
    usage = json["usageMetadata"].map { usage in
      func count(_ name: String) -> Int { Int(usage[name]?.int64 ?? 0) }
      return Usage(prompt: count("promptTokenCount"), candidates: count("candidatesTokenCount"), total: count("totalTokenCount"))
    }
  }
}
