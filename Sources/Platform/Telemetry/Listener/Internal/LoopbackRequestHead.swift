/// The head of one HTTP/1.1 request, parsed from bytes: enough of RFC 9112 for GETs without a body.
struct LoopbackRequestHead {
  /// What came of the bytes so far.
  enum Outcome {
    /// The empty line has not come yet.
    case incomplete
    /// A request, and how many bytes it took.
    case request(LoopbackListener.Request, isKeptAlive: Bool, length: Int)
    /// What cannot be served; the connection ends with this status.
    case refused(Int)
  }

  static func parse(_ bytes: [UInt8], limit: Int) -> Outcome {
    guard let length = endOfHead(bytes.prefix(limit)) else { return bytes.count >= limit ? .refused(431) : .incomplete }
    let text = String(decoding: bytes[..<length], as: UTF8.self)
    let lines = text.split(separator: "\r\n", omittingEmptySubsequences: true)
    let parts = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
    guard parts.count == 3, parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0", parts[1].hasPrefix("/") else {
      return .refused(400)
    }
    var isKeptAlive = parts[2] == "HTTP/1.1"
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return .refused(400) }
      let value = line[line.index(after: colon)...].filter { $0 != " " && $0 != "\t" }.lowercased()
      switch line[..<colon].lowercased() {
      case "content-length" where value != "0", "transfer-encoding": return .refused(413)
      case "connection" where value == "close": isKeptAlive = false
      default: break
      }
    }
    guard parts[0] == "GET" else { return .refused(405) }
    let target = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let request = LoopbackListener.Request(path: String(target[0]), query: target.count > 1 ? String(target[1]) : "")
    return .request(request, isKeptAlive: isKeptAlive, length: length)
  }

  private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
    guard bytes.count >= 4 else { return nil }
    for index in 3..<bytes.count
    where bytes[index] == 0x0a && bytes[index - 1] == 0x0d && bytes[index - 2] == 0x0a && bytes[index - 3] == 0x0d {
      return index + 1
    }
    return nil
  }
}
