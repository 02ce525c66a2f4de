internal import CCurl
internal import EventLoop

extension Transfer {
  /// Sets everything that this attempt needs on a fresh or reset handle.
  func configure(_ easy: UnsafeMutableRawPointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    parley_curl_set_pointer(easy, CURLOPT_PRIVATE, context)
    parley_curl_set_url(easy, target.handle)
    configureTransport(easy)
    configureRedirects(easy)
    configureMethod(easy)
    configureHeaders(easy)
    // The callbacks find the transfer by its address: it is kept by the multi handle's table while the handle is added.
    parley_curl_set_write(
      easy,
      { bytes, size, count, context in
        guard let bytes, let context else { return parley_curl_write_error }
        let reception = Unmanaged<Transfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.receive(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        switch reception {
        case .taken: return size * count
        case .later: return parley_curl_write_pause
        case .never: return parley_curl_write_error
        }
      }, context)
    parley_curl_set_header(
      easy,
      { bytes, size, count, context in
        guard let bytes, let context else { return parley_curl_write_error }
        let isWanted = Unmanaged<Transfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        return isWanted ? size * count : parley_curl_write_error
      }, context)
  }

  private func configureTransport(_ easy: UnsafeMutableRawPointer) {
    parley_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    // A resolver thread that is still asking when its transfer ends is detached. Without this the loop would join it, and
    // stand still for as long as DNS does.
    parley_curl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    parley_curl_set_long(easy, CURLOPT_TIMEOUT_MS, limit.wholeMilliseconds)
    parley_curl_set_long(
      easy, CURLOPT_CONNECTTIMEOUT_MS, min(limit, request.connectTimeout ?? configuration.connectTimeout).wholeMilliseconds)
    // The length in an answer to HEAD is that of a body that does not come.
    if request.method != .head { parley_curl_set_offset(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(maximumResponseSize)) }
    parley_curl_set_long(easy, CURLOPT_SSLVERSION, parley_curl_tls_1_2)
    parley_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1)
    parley_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2)
    if let caFile = configuration.caFile { parley_curl_set_string(easy, CURLOPT_CAINFO, caFile) }
    if target.isSecure {
      parley_curl_set_long(easy, CURLOPT_HTTP_VERSION, parley_curl_http_2_over_tls)
      // Wait for a connection that is being made, and share it. Never on plain HTTP: there it would wait for a response.
      parley_curl_set_long(easy, CURLOPT_PIPEWAIT, 1)
    } else {
      parley_curl_set_long(easy, CURLOPT_HTTP_VERSION, parley_curl_http_1_1)
    }
    switch request.isLinkLocal ? .none : configuration.proxy {
    case .none: parley_curl_set_string(easy, CURLOPT_PROXY, "")
    case .environment: break
    case .url(let url): parley_curl_set_string(easy, CURLOPT_PROXY, url)
    }
  }

  private func configureRedirects(_ easy: UnsafeMutableRawPointer) {
    parley_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, target.isSecure ? "https" : "http")
    parley_curl_set_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https")
    guard case .follow(let most) = request.redirects else { return }
    parley_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 1)
    parley_curl_set_long(easy, CURLOPT_MAXREDIRS, max(0, most))
  }

  private func configureMethod(_ easy: UnsafeMutableRawPointer) {
    guard request.upload == nil else { return configureUpload(easy) }
    switch request.method {
    case .get where request.body == nil: parley_curl_set_long(easy, CURLOPT_HTTPGET, 1)
    case .head: parley_curl_set_long(easy, CURLOPT_NOBODY, 1)
    case .post: parley_curl_set_long(easy, CURLOPT_POST, 1)
    default: parley_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method.name)
    }
    guard request.method != .head, request.body != nil || request.method == .post else { return }
    // The size first: COPYPOSTFIELDS would take a NUL for the end otherwise.
    let body = request.body ?? []
    parley_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
    body.withUnsafeBytes { bytes in
      // An empty array has no address, and null would make libcurl read the body from standard input.
      withUnsafeBytes(of: UInt8(0)) { empty in
        _ = parley_curl_set_pointer(
          easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? empty.baseAddress!))
      }
    }
  }

  private func configureUpload(_ easy: UnsafeMutableRawPointer) {
    // PUT is what libcurl takes an upload for.
    parley_curl_set_long(easy, CURLOPT_UPLOAD, 1)
    parley_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method.name)
    parley_curl_set_offset(easy, CURLOPT_INFILESIZE_LARGE, curl_off_t(request.upload?.size ?? 0))
    parley_curl_set_read(
      easy,
      { bytes, size, count, context in
        guard let bytes, let context else { return parley_curl_read_abort }
        return Unmanaged<Transfer>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.outgoing?.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count)) ?? parley_curl_read_abort
        }
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func configureHeaders(_ easy: UnsafeMutableRawPointer) {
    var list: UnsafeMutablePointer<curl_slist>?
    for field in request.headers {
      // A name with a semicolon is libcurl's spelling of a field without a value.
      list = curl_slist_append(list, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }
    // A name alone takes away what libcurl would add by itself.
    for name in ["Content-Type", "Expect", "Accept"] where request.headers[name] == nil {
      list = curl_slist_append(list, "\(name):")
    }
    if request.headers["User-Agent"] == nil { list = curl_slist_append(list, "User-Agent: \(configuration.userAgent)") }
    headerList = list
    parley_curl_set_headers(easy, list)
  }
}

extension Duration {
  /// Rounded up, at least 1: zero would mean no limit to libcurl.
  fileprivate var wholeMilliseconds: Int { Int(max(1, min((saturatingNanoseconds - 1) / 1_000_000 + 1, 1 << 31 - 1))) }
}
