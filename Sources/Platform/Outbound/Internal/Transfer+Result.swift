internal import CCurl

extension Transfer {
  /// What the finished handle tells.
  func result(_ code: CURLcode, of easy: UnsafeMutableRawPointer) -> Result<HTTPResponse, OutboundError> {
    guard code == CURLE_OK else { return .failure(failure(kind(of: code), reason(code))) }
    // libcurl takes a connection that ends within the header section for a whole response.
    guard headersAreWhole else { return .failure(failure(.connectionLost, "the connection ended within the headers")) }
    return .success(head(of: easy))
  }

  /// The response as far as it has arrived, the header section at least.
  func head(of easy: UnsafeMutableRawPointer) -> HTTPResponse {
    response(
      status: parley_curl_get_long(easy, CURLINFO_RESPONSE_CODE),
      // CURL_HTTP_VERSION_2_0 and above.
      version: parley_curl_get_long(easy, CURLINFO_HTTP_VERSION) >= 3 ? .http2 : .http1)
  }

  private func reason(_ code: CURLcode) -> String {
    if let failure = outgoing?.failure { return failure }
    if isTooLarge || code == CURLE_FILESIZE_EXCEEDED {
      return "the response has more than \(maximumResponseSize) bytes, or \(configuration.maximumHeaderSize) of headers"
    }
    return CurlLibrary.text(code)
  }

  private func kind(of code: CURLcode) -> OutboundError.Code {
    if outgoing?.failure != nil { return .uploadFailed }
    if isTooLarge { return .responseTooLarge }
    switch code {
    case CURLE_FILESIZE_EXCEEDED: return .responseTooLarge
    case CURLE_OPERATION_TIMEDOUT: return .timeout
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_PROXY: return .connectFailed
    case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
      CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
      return .tlsFailed
    case CURLE_PARTIAL_FILE, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_HTTP2, CURLE_HTTP2_STREAM,
      // The connection was stale, and what had been sent cannot be sent again by libcurl itself.
      CURLE_SEND_FAIL_REWIND:
      return .connectionLost
    case CURLE_URL_MALFORMAT: return .refusedURL
    // A redirect to where no request may go, or a peer whose bytes look like HTTP/0.9, that is like anything.
    case CURLE_UNSUPPORTED_PROTOCOL: return headersAreWhole ? .refusedURL : .malformedResponse
    case CURLE_WEIRD_SERVER_REPLY: return .malformedResponse
    case CURLE_TOO_MANY_REDIRECTS: return .tooManyRedirects
    default: return .transportFailed
    }
  }
}
