internal import COpenSSL
internal import CShims
internal import Glibc

/// The server that a client means to reach, as its certificate must name it.
enum ServerName {
  case dns(String)
  case address(String)

  /// - Throws: ``TLSError/Code/badConfiguration`` when there is no name, or it cannot be one.
  init(_ name: String?) throws(TLSError) {
    guard var name, !name.isEmpty else { throw TLSError(.badConfiguration, "a client needs the server's name to verify") }
    if name.hasPrefix("[") && name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    var address = in6_addr()
    if inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1 {
      self = .address(name)
      return
    }
    // The root's dot is not part of names in certificates, nor of SNI (RFC 6066, section 3).
    if name.hasSuffix(".") { name.removeLast() }
    let isName = name.utf8.allSatisfy {
      switch $0 {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    guard isName, (1...253).contains(name.utf8.count), !name.hasPrefix(".") else {
      throw TLSError(.badConfiguration, "the server's name is neither a DNS name nor an IP address")
    }
    self = .dns(name)
  }

  /// Makes `ssl` ask for this server and accept no other.
  func expect(on ssl: OpaquePointer) throws(TLSError) {
    // The subject alternative names alone count (RFC 9525), and a wildcard is a whole label.
    SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
    let isSet =
      switch self {
      case .dns(let name): SSL_set1_host(ssl, name) == 1 && parley_SSL_set_host_name(ssl, name) == 1
      case .address(let address): X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), address) == 1
      }
    guard isSet else { throw OpenSSLErrors.take(.badConfiguration, "the server's name was refused") }
  }
}
