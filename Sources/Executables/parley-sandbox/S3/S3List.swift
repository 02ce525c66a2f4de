import RPCServer

/// One question of ListObjectsV2: which keys there are, in the order of their bytes, so many at once.
struct S3List {
  private let prefix: String
  private let after: String
  private let most: Int

  /// Reads the query; nil when it asks for something else, or for what is not known here.
  init?(_ query: String) {
    let items = S3Judge.items(query)
    func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
    let known = ["list-type", "prefix", "start-after", "continuation-token", "max-keys"]
    guard value("list-type") == "2", items.allSatisfy({ known.contains($0.name) }), let most = Int(value("max-keys") ?? "1000"),
      most > 0
    else { return nil }
    prefix = value("prefix") ?? ""
    // The token is the last key that was told, which only this stand-in needs to know.
    after = value("continuation-token") ?? value("start-after") ?? ""
    self.most = min(most, 1_000)
  }

  /// The answer from all keys in their order.
  func answer(_ keys: [String], of bucket: String) -> HTTPServerResponse {
    let wanted = keys.filter { $0.hasPrefix(prefix) && after.utf8.lexicographicallyPrecedes($0.utf8) }
    let page = wanted.prefix(most)
    let isTruncated = page.count < wanted.count
    let entries = page.map { "<Contents><Key>\(Self.escaped($0))</Key></Contents>" }.joined()
    let next = isTruncated ? "<NextContinuationToken>\(Self.escaped(page.last ?? ""))</NextContinuationToken>" : ""
    let text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
      + "<Name>\(bucket)</Name><Prefix>\(Self.escaped(prefix))</Prefix><KeyCount>\(page.count)</KeyCount>"
      + "<MaxKeys>\(most)</MaxKeys><IsTruncated>\(isTruncated)</IsTruncated>\(entries)\(next)</ListBucketResult>"
    return HTTPServerResponse(200, headers: [("content-type", "application/xml")], body: Array(text.utf8))
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
  }
}
