import JSON
import RPC
import RPCServer

/// What is asked of `GET /v2/voices`: a page of those that a search finds.
struct VoicePage {
  private static let usual = 10
  private static let most = 100

  private let size: Int
  private let search: String
  /// The last voice of the page before; nil for the first page.
  private let after: String?

  /// Reads a query, as strictly as can be: what the API knows and this does not is refused too, so that nobody relies on it.
  init(_ request: HTTPServerRequest) throws(ElevenLabsRefusal) {
    var values: [String: String] = [:]
    for parameter in QueryEncoding.parameters(Array(request.query.utf8)) {
      let name = String(decoding: parameter.name, as: UTF8.self)
      guard ["page_size", "search", "next_page_token"].contains(name), values[name] == nil else {
        throw .init(fields: [(name, "Extra inputs are not permitted")])
      }
      values[name] = String(decoding: parameter.value, as: UTF8.self)
    }
    guard let size = values["page_size"].map({ Int($0) }) ?? Self.usual, (1...Self.most).contains(size) else {
      throw .init(fields: [("page_size", "Input should be from 1 to \(Self.most)")])
    }
    self.size = size
    search = (values["search"] ?? "").lowercased()
    after = values["next_page_token"]
  }

  /// The page of all voices in their order.
  ///
  /// - Throws: ``ElevenLabsRefusal`` where no voice is the last one of a page before.
  func document(of voices: [JSONValue]) throws(ElevenLabsRefusal) -> JSONValue {
    let found = voices.filter(isFound)
    var rest = found[...]
    if let after {
      guard let place = found.firstIndex(where: { $0["voice_id"]?.string == after }) else {
        throw .init(400, "validation_error", "invalid_page_token", "There is no such page.")
      }
      rest = found[(place + 1)...]
    }
    let hasMore = rest.count > size
    return [
      "voices": .array(Array(rest.prefix(size))), "has_more": .bool(hasMore), "total_count": .number(JSONNumber(found.count)),
      "next_page_token": hasMore ? rest.prefix(size).last?["voice_id"] ?? .null : .null,
    ]
  }

  /// Whether the search finds a voice: by its name, description, labels or category.
  private func isFound(_ voice: JSONValue) -> Bool {
    let labels = (voice["labels"]?.object ?? [:]).compactMap(\.value.string)
    let texts = ["name", "description", "category"].compactMap { voice[$0]?.string } + labels
    return search.isEmpty || texts.contains { $0.lowercased().contains(search) }
  }
}
