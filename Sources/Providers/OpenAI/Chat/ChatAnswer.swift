public import JSON

/// What a model said. However it ended, it is paid for.
public struct ChatAnswer: Sendable, Hashable {
  /// How it ended.
  public enum Outcome: Sendable, Hashable {
    /// With a text, as was wanted.
    case text(String)
    /// With an object, as was wanted. Only servers that know schemas hold the model to one: it is not judged here.
    case document(JSONObject)
    /// The model will not answer this.
    case refusal(String)
    /// The longest answer was not long enough.
    case truncated
    /// The server held the answer back.
    case filtered
    /// An object was wanted, and what came is none.
    case malformed
  }

  /// What it cost, in tokens.
  public struct Usage: Sendable, Hashable {
    /// What was asked.
    public let promptTokens: Int
    /// What was answered, thoughts included.
    public let completionTokens: Int
    /// How many of the prompt's were cheaper, for being known.
    public let cachedTokens: Int
    /// How many of the answer's were thoughts.
    public let reasoningTokens: Int
  }

  /// How it ended.
  public let outcome: Outcome
  /// The content as it came; empty where there is none.
  public let text: String
  /// Why the model stopped, in the server's words; empty where it does not say.
  public let finishReason: String
  /// What it cost, where the server says.
  public let usage: Usage?
  /// The model that answered, by the server's own name for it.
  public let model: String
  /// The server's id of the request, for its support.
  public let requestID: String?
}
