internal import CCurl
internal import EventLoop
internal import Synchronization

/// One attempt: what is sent, what has arrived, and who waits for it.
///
/// Whoever waits is told exactly once, even when the loop ends first: then by ``loopHasEnded()`` or by `deinit`.
// SAFETY: written by the caller before it is handed to the loop, and touched on the loop only from then on; who waits is behind a
// lock.
final class Transfer: @unchecked Sendable {
  let request: HTTPRequest
  let target: TargetURL
  let configuration: HTTPClientConfiguration
  /// How long this attempt may take.
  let limit: Duration
  private let waiting = Mutex<CheckedContinuation<Result<HTTPResponse, OutboundError>, Never>?>(nil)

  /// The easy handle while the attempt is under way.
  var easy: UnsafeMutableRawPointer?
  /// The request's header list, which libcurl reads until the end.
  var headerList: UnsafeMutablePointer<curl_slist>?
  var isCancelled = false
  private var headers = HTTPHeaders()
  private var headerBytes = 0
  private(set) var headersAreWhole = false
  private var body: [UInt8] = []
  private(set) var isTooLarge = false
  /// What is sent piece by piece.
  let outgoing: OutgoingBody?
  /// Who reads the body piece by piece; nil to have it whole in the response.
  var incoming: IncomingBody?
  private var arrived = 0

  init(_ request: HTTPRequest, to target: TargetURL, _ configuration: HTTPClientConfiguration, limit: Duration) {
    self.request = request
    self.target = target
    self.configuration = configuration
    self.limit = limit
    outgoing = request.upload.map { OutgoingBody($0) }
  }

  deinit {
    if let headerList { curl_slist_free_all(headerList) }
    outgoing?.stop()
    loopHasEnded()
  }

  var maximumResponseSize: Int { request.maximumResponseSize ?? configuration.maximumResponseSize }

  /// Notes who waits for the response, before the transfer is handed to the loop.
  func wait(_ continuation: CheckedContinuation<Result<HTTPResponse, OutboundError>, Never>) {
    waiting.withLock { $0 = continuation }
  }

  /// Tells whoever waits that nothing more will come. May be called from any thread.
  func loopHasEnded() {
    let ended = failure(.cancelled, "the event loop has ended")
    tell(.failure(ended))
    incoming?.end(.failure(ended))
  }

  /// The attempt is over. Who reads piece by piece has been told the beginning, and is told the end.
  func finish(_ result: Result<HTTPResponse, OutboundError>) {
    outgoing?.stop()
    tell(result)
    incoming?.end(result.map { _ in })
  }

  private func tell(_ result: Result<HTTPResponse, OutboundError>) {
    let continuation = waiting.withLock { waiting in
      defer { waiting = nil }
      return waiting
    }
    continuation?.resume(returning: result)
  }

  func failure(_ code: OutboundError.Code, _ reason: String) -> OutboundError {
    .init(code, "\(request.method) \(target.safeText): \(reason)")
  }

  func response(status: Int, version: HTTPResponse.Version) -> HTTPResponse {
    .init(status: status, headers: headers, body: body, version: version)
  }

  // MARK: What arrives

  /// What libcurl is told of bytes that it has.
  enum Reception {
    case taken
    case later
    case never
  }

  /// Takes part of the body.
  func receive(_ bytes: UnsafeRawBufferPointer) -> Reception {
    guard !isTooLarge, arrived + bytes.count <= maximumResponseSize else {
      isTooLarge = true
      return .never
    }
    if let incoming {
      if let easy { tell(.success(head(of: easy))) }
      guard incoming.take(bytes) else { return .later }
    } else {
      body.append(contentsOf: bytes)
    }
    arrived += bytes.count
    return .taken
  }

  /// Takes one line of a header section, of which there are several when an interim response or a redirect comes first.
  /// False ends the transfer.
  func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
    headerBytes += line.count
    guard headerBytes <= configuration.maximumHeaderSize else {
      isTooLarge = true
      return false
    }
    let text = line.trimmed
    if text.starts(with: Array("HTTP/".utf8)) {
      headers = HTTPHeaders()
      headersAreWhole = false
      body.removeAll()
      arrived = 0
    } else if text.isEmpty {
      headersAreWhole = true
    } else if !headersAreWhole, let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      headers.add(
        String(decoding: text[..<colon], as: UTF8.self),
        String(decoding: UnsafeRawBufferPointer(rebasing: text[(colon + 1)...]).trimmed, as: UTF8.self))
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  /// Without blanks and line ends around it.
  fileprivate var trimmed: UnsafeRawBufferPointer {
    var (start, end) = (0, count)
    while start < end, self[start] <= 0x20 { start += 1 }
    while end > start, self[end - 1] <= 0x20 { end -= 1 }
    return .init(rebasing: self[start..<end])
  }
}
