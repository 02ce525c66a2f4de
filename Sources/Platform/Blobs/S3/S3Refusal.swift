internal import Outbound

/// A store's answer that says no.
struct S3Refusal {
  let status: Int
  /// The `<Code>` of the answer, where there is one: a `HEAD` has none.
  let code: String?

  init(_ status: Int, _ body: [UInt8], _ headers: HTTPHeaders) {
    self.status = status
    code = Self.code(in: String(decoding: body.prefix(4096), as: UTF8.self))
  }

  func error(_ what: String) -> BlobError {
    let text = "\(what): status \(status)\(code.map { " \($0)" } ?? "")"
    switch (status, code) {
    case (404, "NoSuchBucket"): return BlobError(.refused, text)
    case (404, _): return BlobError(.notFound, text)
    // What came had another digest than was signed.
    case (400, "BadDigest"), (400, "XAmzContentSHA256Mismatch"), (400, "InvalidDigest"): return BlobError(.corrupt, text)
    case (400, "RequestTimeout"), (409, _), (429, _), (500..., _): return BlobError(.unavailable, text)
    default: return BlobError(.refused, text)
    }
  }

  /// The text between `<Code>` and `</Code>`: all that is wanted of the XML, so none is parsed.
  private static func code(in text: String) -> String? {
    guard let start = text.firstRange(of: "<Code>"), let end = text[start.upperBound...].firstRange(of: "</Code>") else {
      return nil
    }
    let code = text[start.upperBound..<end.lowerBound]
    guard (1...64).contains(code.utf8.count), code.utf8.allSatisfy({ (0x30...0x7a).contains($0) }) else { return nil }
    return String(code)
  }
}
