import EventLoop
import Glibc
import HTTP2

/// The command line of the bench server.
struct BenchOptions {
  var port = 0
  var portFile: String?
  var loops = 1
  var tls: TLSContext?
  var database: String?
  var oneInOK = 1

  struct Invalid: Error, CustomStringConvertible {
    let description: String
  }

  init(_ arguments: ArraySlice<String>) throws {
    var certificate: String?
    var key: String?
    var arguments = arguments
    while let name = arguments.popFirst() {
      guard let value = arguments.popFirst() else { throw Invalid(description: "\(name) needs a value") }
      switch name {
      case "--port": port = Int(value) ?? 0
      case "--port-file": portFile = value
      case "--loops": loops = Int(value) ?? 1
      case "--database": database = value
      case "--log-one-in": oneInOK = Int(value) ?? 1
      case "--tls-certificate": certificate = value
      case "--tls-key": key = value
      default: throw Invalid(description: "unknown option \(name)")
      }
    }
    if let certificate, let key {
      tls = try TLSContext(.server(identity: .init(certificateChain: .file(certificate), privateKey: .file(key))))
    }
  }

  /// Tells whoever started the server where it listens.
  func announce(_ address: SocketAddress) throws {
    let text = "\(address.port ?? 0)\n"
    guard let portFile else {
      print(text, terminator: "")
      fflush(nil)
      return
    }
    guard let file = fopen(portFile + ".new", "w") else { throw Invalid(description: "cannot write \(portFile)") }
    fputs(text, file)
    fclose(file)
    rename(portFile + ".new", portFile)
  }
}
