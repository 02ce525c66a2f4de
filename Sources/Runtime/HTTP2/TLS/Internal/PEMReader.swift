internal import COpenSSL
internal import Glibc

/// Reads certificates and keys out of PEM text.
enum PEMReader {
  /// Every certificate of the text, in order; the caller owns a reference to each.
  ///
  /// - Throws: ``TLSError/Code/badPEM`` when there is none or one is broken.
  static func certificates(_ pem: TLSConfiguration.PEM, _ what: String) throws(TLSError) -> [OpaquePointer] {
    let bio = try source(pem, what)
    defer { BIO_free(bio) }
    var found: [OpaquePointer] = []
    while let certificate = PEM_read_bio_X509(bio, nil, refusePassPhrase, nil) { found.append(certificate) }
    // The list ends with "no start line"; any other reason means a broken block.
    let reason = Int32(truncatingIfNeeded: ERR_peek_last_error() & 0x7F_FFFF)
    if found.isEmpty || reason != PEM_R_NO_START_LINE {
      for certificate in found { X509_free(certificate) }
      throw OpenSSLErrors.take(.badPEM, "\(what) holds no readable certificate")
    }
    ERR_clear_error()
    return found
  }

  /// The first private key of the text; the caller owns a reference.
  ///
  /// - Throws: ``TLSError/Code/badPEM`` when there is none, or it needs a pass phrase.
  static func privateKey(_ pem: TLSConfiguration.PEM, _ what: String) throws(TLSError) -> OpaquePointer {
    let bio = try source(pem, what)
    defer { BIO_free(bio) }
    guard let key = PEM_read_bio_PrivateKey(bio, nil, refusePassPhrase, nil) else {
      throw OpenSSLErrors.take(.badPEM, "\(what) holds no readable private key")
    }
    return key
  }

  /// OpenSSL's own callback would ask at the terminal.
  private static let refusePassPhrase:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 =
      { _, _, _, _ in -1 }

  private static func source(_ pem: TLSConfiguration.PEM, _ what: String) throws(TLSError) -> OpaquePointer {
    ERR_clear_error()
    let bytes: [UInt8] =
      switch pem {
      case .bytes(let bytes): bytes
      case .file(let path): try contents(of: path, what)
      }
    guard bytes.count <= TLSLimits.pemBytes else { throw TLSError(.badPEM, "\(what) is longer than 1 MiB") }
    // A BIO of its own memory: the array does not outlive this call.
    guard let bio = BIO_new(BIO_s_mem()), BIO_write(bio, bytes, Int32(bytes.count)) == Int32(bytes.count) || bytes.isEmpty else {
      throw OpenSSLErrors.take(.internal, "no memory for \(what)")
    }
    return bio
  }

  private static func contents(of path: String, _ what: String) throws(TLSError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw TLSError(.badPEM, "\(what) cannot be opened at \(path): \(String(cString: strerror(errno)))")
    }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: TLSLimits.pemBytes + 1)
    var count = 0
    while count < bytes.count {
      let offset = count
      let got = bytes.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + offset, $0.count - offset) }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { throw TLSError(.badPEM, "\(what) cannot be read at \(path): \(String(cString: strerror(errno)))") }
      if got == 0 { break }
      count += got
    }
    return Array(bytes[..<count])
  }
}
