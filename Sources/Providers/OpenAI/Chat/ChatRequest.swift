public import EventLoop
public import JSON

/// Something that is said in a chat.
public struct ChatMessage: Sendable, Hashable {
  /// Who says it.
  public enum Role: String, Sendable, Hashable {
    /// Whoever set up the chat.
    case system
    /// The person.
    case user
    /// The model.
    case assistant
  }

  /// Who says it.
  public let role: Role
  /// What is said.
  public let content: String

  /// A message.
  ///
  /// - Parameters:
  ///   - role: Who says it.
  ///   - content: What is said.
  public init(_ role: Role, _ content: String) {
    self.role = role
    self.content = content
  }
}

/// The form in which an answer is wanted.
public struct ChatSchema: Sendable, Hashable {
  /// What it is called: letters, digits, `_` and `-`, at most 64.
  public let name: String
  /// The JSON schema. Strict servers want an object whose members are all required and without others, at each level.
  public let schema: JSONObject

  /// A schema.
  ///
  /// - Parameters:
  ///   - name: What it is called: letters, digits, `_` and `-`, at most 64.
  ///   - schema: The JSON schema of an object.
  public init(name: String, schema: JSONObject) {
    self.name = name
    self.schema = schema
  }
}

/// A chat whose next message is wanted.
public struct ChatRequest: Sendable {
  /// The model's name as the server knows it.
  public var model: String
  /// What was said so far.
  public var messages: [ChatMessage]
  /// The caller's id of the request, printable ASCII, at most 512 bytes: the same when it is sent again.
  public var requestID: String
  /// The form in which the answer is wanted; nil for text.
  public var schema: ChatSchema?
  /// The longest answer, in tokens.
  public var maximumTokens: Int?
  /// How much chance there is in it, 0 to 2.
  public var temperature: Double?
  /// What makes two answers alike, as far as the server can.
  public var seed: Int64?
  /// How long it may take, instead of the setting.
  public var timeout: Duration?
  /// When the caller itself must have answered.
  public var deadline: MonotonicInstant?

  /// A request; the rest is set on the value.
  ///
  /// - Parameters:
  ///   - model: The model's name as the server knows it.
  ///   - messages: What was said so far.
  ///   - requestID: The caller's id of the request.
  public init(model: String, messages: [ChatMessage], requestID: String) {
    self.model = model
    self.messages = messages
    self.requestID = requestID
  }
}
