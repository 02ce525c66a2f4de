internal import CCurl
internal import Glibc

/// libcurl's state for the whole process.
enum CurlLibrary {
  /// Initialized at first use, once: `curl_global_init` must not run twice at the same time, and OpenSSL writes to a closed
  /// socket raise SIGPIPE, which would end the process.
  static let isReady: Bool = {
    signal(SIGPIPE, SIG_IGN)
    return curl_global_init(parley_curl_global_all) == CURLE_OK
  }()

  /// libcurl's words for a result; they never hold data of the request.
  static func text(_ code: CURLcode) -> String { String(cString: curl_easy_strerror(code)) }
}
