import JSON

/// What somebody wishes chats to be answered with.
struct WishedChat: Sendable {
  /// The way of it.
  enum Kind: Sendable {
    /// With this content, whatever was asked for.
    case content(String)
    /// With a refusal.
    case refusal(String)
    /// With half of what it would have been.
    case truncated
    /// With what is no JSON.
    case invalid
  }

  /// The fields of the control request.
  static let names: Set<String> = ["content", "document", "refusal", "truncated", "invalid", "count"]

  let kind: Kind
  /// How many chats are left that are answered with it.
  var count: Int

  /// Reads a wish.
  init(_ request: ControlRequest) throws(ControlRequest.Fault) {
    var kinds: [Kind] = []
    if let content = try request.text("content") { kinds.append(.content(content)) }
    if let document = request.body["document"] {
      guard document.object != nil else { throw .init(message: "'document' is not an object") }
      kinds.append(.content("\(document)"))
    }
    if let refusal = try request.text("refusal") { kinds.append(.refusal(refusal)) }
    if try request.flag("truncated") { kinds.append(.truncated) }
    if try request.flag("invalid") { kinds.append(.invalid) }
    guard let kind = kinds.first, kinds.count == 1 else {
      throw .init(message: "one of 'content', 'document', 'refusal', 'truncated' and 'invalid' is needed")
    }
    self.kind = kind
    count = try request.integer("count", in: 1...1_000_000) ?? 1
  }
}
