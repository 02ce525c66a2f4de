/// What a server that speaks like OpenAI knows of its API: OpenAI all of it, servers of one's own some.
struct OpenAIDialect: Sendable, Equatable {
  /// What a server is for.
  enum Work: String, Sendable, CaseIterable {
    case transcriptions
    case chats
  }

  /// The fields of the control request.
  static let names: Set<String> = ["serves", "tokenLimit", "jsonSchema", "verboseJson"]
  private static let tokenLimits = ["max_tokens", "max_completion_tokens"]

  /// The one kind of work that it does; nil for both.
  var serves: Work?
  /// The only name by which it knows the limit on an answer; nil for both.
  var tokenLimit: String?
  /// Whether it holds a model to a schema.
  var knowsSchemas = true
  /// Whether it tells more of a recording than its words.
  var isVerbose = true

  /// All of OpenAI's.
  init() {}

  /// Reads what a test says; what it leaves out is as at OpenAI.
  init(_ request: ControlRequest) throws(ControlRequest.Fault) {
    if let text = try request.text("serves") {
      guard let work = Work(rawValue: text) else {
        throw .init(message: "'serves' is one of \(Work.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      serves = work
    }
    tokenLimit = try request.text("tokenLimit")
    if let tokenLimit, !Self.tokenLimits.contains(tokenLimit) {
      throw .init(message: "'tokenLimit' is one of \(Self.tokenLimits.joined(separator: ", "))")
    }
    knowsSchemas = try request.optionalFlag("jsonSchema") ?? true
    isVerbose = try request.optionalFlag("verboseJson") ?? true
  }
}
