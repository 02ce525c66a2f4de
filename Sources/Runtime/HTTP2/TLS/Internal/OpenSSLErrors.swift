internal import COpenSSL

/// OpenSSL's error queue of this thread, as a ``TLSError``.
enum OpenSSLErrors {
  /// Takes the reason and empties the queue: the oldest error of the TLS layer, whose words are about the connection, or else
  /// the oldest of all (a bad signature, say, is first an error of the elliptic curves).
  ///
  /// - Parameters:
  ///   - fallback: The kind when the reason tells none.
  ///   - doing: What failed, for the message.
  static func take(_ fallback: TLSError.Code, _ doing: String) -> TLSError {
    var error = ERR_get_error()
    while library(error) != ERR_LIB_SSL {
      let next = ERR_get_error()
      guard next != 0 else { break }
      if error == 0 || library(next) == ERR_LIB_SSL { error = next }
    }
    ERR_clear_error()
    guard error != 0 else { return TLSError(fallback, doing) }
    let reason = Int32(truncatingIfNeeded: error & 0x7F_FFFF)
    let text = ERR_reason_error_string(error).map { String(cString: $0) } ?? "reason \(reason)"
    let message = doing.isEmpty ? text : "\(doing): \(text)"
    guard library(error) == ERR_LIB_SSL else { return TLSError(fallback, message) }
    // SSL_R_* of an alert that the peer sent is SSL_AD_REASON_OFFSET plus the alert's number.
    if reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255 {
      return TLSError(.peerAlert, message, alert: UInt8(reason - SSL_AD_REASON_OFFSET))
    }
    return TLSError(code(reason) ?? fallback, message)
  }

  private static func library(_ error: UInt) -> Int32 { Int32(truncatingIfNeeded: (error >> 23) & 0xFF) }

  private static func code(_ reason: Int32) -> TLSError.Code? {
    switch reason {
    case SSL_R_NO_APPLICATION_PROTOCOL, SSL_R_CALLBACK_FAILED: .noApplicationProtocol
    case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_WRONG_SSL_VERSION, SSL_R_NO_SHARED_CIPHER,
      SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
      .noCommonParameters
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: .certificateMissing
    case SSL_R_CERTIFICATE_VERIFY_FAILED: .certificateUntrusted
    case SSL_R_NO_RENEGOTIATION: .renegotiation
    default: nil
    }
  }

  /// The error for a certificate that was not accepted, from the number that the verification left behind (`X509_V_ERR_*`).
  static func verification(_ result: Int) -> TLSError {
    let text = String(cString: X509_verify_cert_error_string(result))
    let code: TLSError.Code =
      switch Int32(truncatingIfNeeded: result) {
      case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .serverNameMismatch
      case X509_V_ERR_CERT_HAS_EXPIRED: .certificateExpired
      case X509_V_ERR_CERT_NOT_YET_VALID: .certificateNotYetValid
      default: .certificateUntrusted
      }
    return TLSError(code, "the peer's certificate was not accepted: \(text)")
  }
}
