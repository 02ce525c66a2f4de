import EventLoop
import Glibc
import HTTP2
import RPC
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

@Suite("TLS files that change")
struct CertificateReloadTests {
  /// What reads the files, with what it logged and counted.
  private struct Subject {
    let files: TLSFiles
    let log = CapturedLog()
    let registry = PrometheusRegistry()
    let reloader: CertificateReloader

    init(_ leaf: TestAuthority.Leaf, clientRoots: [UInt8]? = nil) throws {
      try self.init(TLSFiles(leaf, clientRoots: clientRoots))
    }

    init(_ files: TLSFiles) throws {
      self.files = files
      reloader = try #require(try CertificateReloader(files.settings(), log.logger, registry))
    }

    /// Two looks: one that finds the files changed, one that finds them settled.
    func lookTwice() {
      reloader.look()
      reloader.look()
    }

    func count(_ result: String) -> Int64 {
      registry.counter("parley_tls_reloads_total", labels: [("result", result)]).total
    }
  }

  let authority = TestAuthority()

  @Test("A file that changes is read again once it has settled, and only then")
  func settled() throws {
    let subject = try Subject(authority.server())
    let first = subject.reloader.source.current
    subject.lookTwice()
    #expect(subject.reloader.source.current === first && subject.log.all.isEmpty)
    try subject.files.write(authority.server())
    subject.reloader.look()
    #expect(subject.reloader.source.current === first)
    subject.reloader.look()
    #expect(subject.reloader.source.current !== first)
    #expect(subject.log.containing("the TLS certificate is renewed").count == 1 && subject.count("ok") == 1)
    let second = subject.reloader.source.current
    subject.lookTwice()
    #expect(subject.reloader.source.current === second)
  }

  @Test("A mounted secret of Kubernetes, whose link `..data` is swapped, is read again")
  func swappedLink() throws {
    let files = try TLSFiles(authority.server(), in: "mount")
    let root = files.folder.file("mount")
    try #require(mkdir(root, 0o700) == 0)
    func version(_ name: String, _ leaf: TestAuthority.Leaf) throws {
      try #require(mkdir("\(root)/\(name)", 0o700) == 0)
      try files.folder.write("mount/\(name)/tls.crt", leaf.certificateChain)
      try files.folder.write("mount/\(name)/tls.key", leaf.privateKey)
      try #require(symlink(name, "\(root)/..data_tmp") == 0 && rename("\(root)/..data_tmp", "\(root)/..data") == 0)
    }
    try version("..2026_01", authority.server())
    for name in ["tls.crt", "tls.key"] { try #require(symlink("..data/\(name)", "\(root)/\(name)") == 0) }
    let subject = try Subject(files)
    let first = subject.reloader.source.current
    try version("..2026_02", authority.server())
    for name in ["tls.crt", "tls.key"] { unlink("\(root)/..2026_01/\(name)") }
    rmdir("\(root)/..2026_01")
    subject.lookTwice()
    #expect(subject.reloader.source.current !== first && subject.count("ok") == 1)
    #expect(subject.log.containing("error").isEmpty)
  }

  /// A way in which new files can be wrong, and what the log says of it.
  enum Fault: String, CaseIterable {
    case otherKey = "KEY_MISMATCH"
    case expired = "CERTIFICATE_EXPIRED"
    case notYetValid = "CERTIFICATE_NOT_YET_VALID"
    case cut = "holds no readable certificate"
    case cutKey = "holds no readable private key"
    case empty = "the certificate chain holds no"
    case missing = "No such file"
    case folder = "Is a directory"
    case badRoots = "the trust roots holds no"

    func write(_ files: TLSFiles, _ authority: TestAuthority) throws {
      let good = authority.server()
      switch self {
      case .otherKey: try files.folder.replace("tls.key", good.privateKey)
      case .expired: try files.write(authority.server(validity: .past))
      case .notYetValid: try files.write(authority.server(validity: .future))
      case .cut: try files.folder.write("tls.crt", Array(good.certificateChain.dropLast(60)))
      case .cutKey: try files.folder.write("tls.key", Array(good.privateKey.dropLast(60)))
      case .empty: try files.folder.write("tls.crt", [])
      case .missing: unlink(files.folder.file("tls.crt"))
      case .folder:
        unlink(files.folder.file("tls.key"))
        mkdir(files.folder.file("tls.key"), 0o700)
      case .badRoots: try files.folder.write("ca.crt", Array("no roots".utf8))
      }
    }

    func clear(_ files: TLSFiles) { if self == .folder { rmdir(files.folder.file("tls.key")) } }
  }

  @Test(
    "What cannot be used is logged once with its reason and counted, and the old stays until it is right",
    arguments: Fault.allCases)
  func fault(_ fault: Fault) throws {
    let subject = try Subject(authority.server(), clientRoots: authority.certificate)
    let first = subject.reloader.source.current
    try fault.write(subject.files, authority)
    for _ in 0..<5 { subject.reloader.look() }
    #expect(subject.reloader.source.current === first)
    #expect(subject.count("failed") == 1 && subject.count("ok") == 0)
    let lines = subject.log.all
    #expect(lines.count == 1 && lines[0].hasPrefix("error the new TLS files cannot be used; the old certificate stays"))
    #expect(lines[0].contains(fault.rawValue), "\(lines)")
    #expect(!lines[0].contains("BEGIN"))
    // Whoever asks is told again.
    subject.reloader.reload()
    #expect(subject.log.all.count == 2 && subject.count("failed") == 2)
    fault.clear(subject.files)
    try subject.files.write(authority.server(), clientRoots: authority.certificate)
    subject.lookTwice()
    #expect(subject.reloader.source.current !== first && subject.count("ok") == 1)
  }

  @Test("Asked to, files are read at once and also when they look the same")
  func request() throws {
    let subject = try Subject(authority.server())
    let first = subject.reloader.source.current
    subject.reloader.reload()
    #expect(subject.reloader.source.current !== first)
    #expect(subject.log.containing("cause=asked to").count == 1)
    let expiry = String(decoding: subject.registry.exposition(), as: UTF8.self)
    #expect(expiry.contains("parley_tls_certificate_expiry_timestamp_seconds \(first.certificateExpiry ?? 0)"))
  }

  @Test("A running service takes new files by itself, without losing a connection")
  func running() async throws {
    let (first, second) = (TestAuthority(commonName: "first"), TestAuthority(commonName: "second"))
    let files = try TLSFiles(first.server())
    let log = CapturedLog()
    let instance = try await ServiceInstance.start(PeerService.self, settings: files.settings(), log: log.logger)
    async let serving: Void = instance.run()
    let old = try TLSCaller(instance.addresses.tls, trusting: first)
    #expect(try await old.call().get() == "nobody")
    try files.write(second.server())
    try await log.wait(for: "the TLS certificate is renewed")
    #expect(try await TLSCaller.once(instance, trusting: second).get() == "nobody")
    #expect(try await old.call().get() == "nobody")
    // And not by way of a new connection, which would not be trusted.
    let stranger = try await TLSCaller.once(instance, trusting: first)
    guard case .failure(let error) = stranger else { throw TimedOut("the old certificate is still given") }
    #expect(error.code == .unavailable)
    try await old.close()
    instance.stop()
    try await serving
  }

  private func isRefused(_ instance: ServiceInstance, _ leaf: TestAuthority.Leaf) async throws -> Bool {
    guard case .failure(let error) = try await TLSCaller.once(instance, trusting: authority, as: leaf) else { return false }
    return error.code == .unavailable
  }

  @Test("New client roots hold for new connections: who they do not know is refused, who is connected stays")
  func clientRoots() async throws {
    let (first, second) = (TestAuthority(commonName: "first clients"), TestAuthority(commonName: "second clients"))
    let files = try TLSFiles(authority.server(), clientRoots: first.certificate)
    let instance = try await ServiceInstance.start(PeerService.self, settings: files.settings(), log: CapturedLog().logger)
    async let serving: Void = instance.run()
    let (one, two) = (first.client(commonName: "a", names: ["a.internal"]), second.client(commonName: "b", names: ["b.internal"]))
    let old = try TLSCaller(instance.addresses.tls, trusting: authority, as: one)
    #expect(try await old.call().get() == "a.internal")
    #expect(try await isRefused(instance, two))
    try files.folder.replace("ca.crt", second.certificate)
    #expect(await instance.reload())
    #expect(try await TLSCaller.once(instance, trusting: authority, as: two).get() == "b.internal")
    #expect(try await isRefused(instance, one))
    #expect(try await old.call().get() == "a.internal")
    try await old.close()
    instance.stop()
    try await serving
  }
}
