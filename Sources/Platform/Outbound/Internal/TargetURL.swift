internal import CCurl

/// A URL that has passed the client's rules, parsed once, by the parser that the transfer uses too.
// SAFETY: libcurl only reads the handle after `init` (CURLOPT_CURLU), and it is freed with the last owner.
final class TargetURL: @unchecked Sendable {
  let handle: OpaquePointer
  let isSecure: Bool
  /// `scheme://host:port`, which names the circuit.
  let origin: String
  /// The URL without user, query and fragment, for messages.
  let safeText: String

  init(_ text: String, plainHTTP: HTTPClientConfiguration.PlainHTTP) throws(OutboundError) {
    guard let handle = curl_url() else { throw .init(.transportFailed, "out of memory") }
    // A NUL would end the C string early: what is judged must be what is sent.
    let isParsed =
      !text.utf8.contains { $0 <= 0x20 || $0 == 0x7f }
      && curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK
    let scheme = Self.part(CURLUPART_SCHEME, of: handle) ?? ""
    let host = Self.part(CURLUPART_HOST, of: handle)?.lowercased() ?? ""
    let port = Self.part(CURLUPART_PORT, of: handle, flags: UInt32(CURLU_DEFAULT_PORT)) ?? ""
    let path = Self.part(CURLUPART_PATH, of: handle) ?? "/"
    self.handle = handle
    isSecure = scheme == "https"
    origin = "\(scheme)://\(host):\(port)"
    safeText = "\(scheme)://\(host)\(port == "443" || port == "80" ? "" : ":\(port)")\(path)"
    guard isParsed, !host.isEmpty else {
      throw .init(.refusedURL, "the URL is not an absolute URL without user and password")
    }
    guard scheme == "https" || scheme == "http" else { throw .init(.refusedURL, "\(safeText): the scheme is not https") }
    guard isSecure || plainHTTP == .anywhere || (plainHTTP == .loopbackOnly && Self.isLoopback(host)) else {
      throw .init(.refusedURL, "\(safeText): plain http is not allowed to this host")
    }
  }

  deinit { curl_url_cleanup(handle) }

  /// libcurl has brought unusual spellings (`0x7f.1`, `2130706433`) into dotted form by now, and it never asks DNS for `localhost`.
  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }
}
