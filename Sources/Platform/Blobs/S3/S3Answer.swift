internal import Outbound

/// What a store says in XML: why not, or which names there are. Only the few elements that are wanted are looked for.
struct S3Answer {
  /// How much is read of an answer that says no, in bytes.
  static let limit = 4096

  private let text: Substring

  init(_ body: [UInt8]) { text = Substring(String(decoding: body, as: UTF8.self)) }

  // MARK: Refusals

  /// The error that an answer stands for; that to a `HEAD` has a status alone.
  ///
  /// - Parameters:
  ///   - what: What was tried.
  ///   - response: The status and the header fields.
  ///   - unixSeconds: The time, for a wait that is told as a date.
  func error(_ what: String, _ response: HTTPResponse, unixSeconds: Int64) -> BlobError {
    let status = response.status
    let code = code
    let message = "\(what): status \(status)\(code.map { " \($0)" } ?? "")"
    switch (status, code) {
    case (404, "NoSuchBucket"): return BlobError(.refused, message)
    case (404, _): return BlobError(.notFound, message)
    // What came had another digest than was signed.
    case (400, "BadDigest"), (400, "XAmzContentSHA256Mismatch"), (400, "InvalidDigest"): return BlobError(.corrupt, message)
    case (400, "RequestTimeout"), (409, _), (429, _), (500..., _):
      let wait = response.headers["retry-after"].flatMap { RetryAfter.delay(of: $0, unixSeconds: unixSeconds) }
      return BlobError(.unavailable, message, retryAfter: wait.map { min($0, .seconds(86_400)) })
    default: return BlobError(.refused, message)
    }
  }

  private var code: String? {
    guard let code = Self.element("Code", in: text.prefix(Self.limit))?.content, (1...64).contains(code.utf8.count),
      code.utf8.allSatisfy({ (0x30...0x7a).contains($0) })
    else { return nil }
    return String(code)
  }

  // MARK: Names

  /// A part of a list of names.
  struct Page {
    /// The names.
    let names: [String]
    /// With what the next part is asked for; nil after the last.
    let next: String?
  }

  /// The part of a list that this is.
  ///
  /// - Throws: ``BlobError`` with `unavailable` when it is none.
  func page() throws(BlobError) -> Page {
    guard let list = Self.element("ListBucketResult", in: text)?.content,
      let more = Self.element("IsTruncated", in: list)?.content
    else { throw BlobError(.unavailable, "list: the answer is no list") }
    var names: [String] = []
    var rest = list
    while let entry = Self.element("Contents", in: rest) {
      if let name = Self.element("Key", in: entry.content)?.content { names.append(Self.plain(name)) }
      rest = entry.rest
    }
    guard more == "true" else { return Page(names: names, next: nil) }
    guard let next = Self.element("NextContinuationToken", in: list)?.content, !next.isEmpty else {
      throw BlobError(.unavailable, "list: the answer does not say how it goes on")
    }
    return Page(names: names, next: Self.plain(next))
  }

  // MARK: XML

  /// The first element of a name, which may have attributes: what is in it, and what follows.
  private static func element(_ name: String, in text: Substring) -> (content: Substring, rest: Substring)? {
    var rest = text
    while let start = rest.firstRange(of: "<\(name)") {
      rest = rest[start.upperBound...]
      guard let end = rest.firstIndex(of: ">") else { return nil }
      // A longer name, or an element that is empty.
      guard rest.first == ">" || rest.first == " ", rest[..<end].last != "/" else { continue }
      let content = rest[rest.index(after: end)...]
      guard let close = content.firstRange(of: "</\(name)>") else { return nil }
      return (content[..<close.lowerBound], content[close.upperBound...])
    }
    return nil
  }

  /// The text that was escaped.
  private static func plain(_ text: Substring) -> String {
    guard text.contains("&") else { return String(text) }
    let entities = [
      ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&#34;", "\""), ("&amp;", "&"),
    ]
    return entities.reduce(String(text)) { $0.replacing($1.0, with: $1.1) }
  }
}
