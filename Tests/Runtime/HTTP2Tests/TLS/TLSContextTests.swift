import Glibc
import HTTP2
import TestSupport
import Testing

@Suite("TLS context")
struct TLSContextTests {
  let parties = TLSParties()

  private func code(_ configuration: TLSConfiguration) -> TLSError.Code? {
    do throws(TLSError) {
      _ = try TLSContext(configuration)
      return nil
    } catch {
      return error.code
    }
  }

  @Test("Text that is no certificate or no key is refused")
  func badPEM() {
    let leaf = parties.authority.server()
    var cut = leaf.certificateChain
    cut[200] ^= 0x55
    let good = TLSConfiguration.PEM.bytes(leaf.privateKey)
    for chain in [[], Array("no PEM at all".utf8), leaf.privateKey, cut, Array(leaf.certificateChain.dropLast(40))] {
      #expect(code(.server(identity: .init(certificateChain: .bytes(chain), privateKey: good))) == .badPEM)
      #expect(code(.client(trustRoots: .certificates(.bytes(chain)))) == .badPEM)
    }
    for key in [[], leaf.certificateChain, Array(leaf.privateKey.dropLast(40))] {
      let identity = TLSConfiguration.Identity(certificateChain: .bytes(leaf.certificateChain), privateKey: .bytes(key))
      #expect(code(.server(identity: identity)) == .badPEM)
    }
    let endless = [UInt8](repeating: 0x0A, count: TLSLimits.pemBytes + 1)
    #expect(code(.client(trustRoots: .certificates(.bytes(endless)))) == .badPEM)
  }

  @Test("A key of another certificate is refused")
  func keyMismatch() {
    let (one, other) = (parties.authority.server(), parties.authority.server())
    let identity = TLSConfiguration.Identity(certificateChain: .bytes(one.certificateChain), privateKey: .bytes(other.privateKey))
    #expect(code(.server(identity: identity)) == .keyMismatch)
  }

  @Test("An own certificate outside its validity is refused")
  func validity() {
    let past = parties.authority.server(validity: .past)
    #expect(code(.server(identity: parties.identity(past))) == .certificateExpired)
    let future = parties.authority.server(validity: .future)
    #expect(code(.server(identity: parties.identity(future))) == .certificateNotYetValid)
  }

  @Test("The context tells when its certificate ends")
  func expiry() throws {
    let expiry = try #require(try parties.server().certificateExpiry)
    #expect(abs(expiry - (Int64(time(nil)) + 86_400)) < 120)
    #expect(try parties.client().certificateExpiry == nil)
  }

  @Test("Impossible protocol names and versions are refused")
  func badConfiguration() {
    for names in [[""], ["h2", String(repeating: "a", count: 256)]] {
      var configuration = TLSConfiguration.client(trustRoots: parties.roots)
      configuration.applicationProtocols = names
      #expect(code(configuration) == .badConfiguration)
    }
    var configuration = TLSConfiguration.client(trustRoots: parties.roots)
    configuration.applicationProtocols = [String(repeating: "a", count: 255)]
    #expect(code(configuration) == nil)
    configuration.minimumVersion = .tls13
    configuration.maximumVersion = .tls12
    #expect(code(configuration) == .badConfiguration)
  }

  @Test("Certificates and keys are read from files, and a missing file is named")
  func files() throws {
    let leaf = parties.authority.server()
    var template = Array("/tmp/parley-tls-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    #expect(descriptor >= 0)
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { unlink(path) }
    let both = leaf.certificateChain + leaf.privateKey
    #expect(write(descriptor, both, both.count) == both.count)
    close(descriptor)
    let context = try TLSContext(.server(identity: .init(certificateChain: .file(path), privateKey: .file(path))))
    let pair = try TLSPair(parties.client(), context)
    pair.run()
    #expect(pair.client.state == .established)
    let error = #expect(throws: TLSError.self) { _ = try TLSContext(.client(trustRoots: .certificates(.file(path + ".none")))) }
    #expect(error?.code == .badPEM)
    #expect(error?.message.contains(path + ".none") == true)
  }

  @Test("A new context serves new connections while old ones go on with theirs")
  func renewal() throws {
    var holder: TLSContext? = try parties.server()
    let old = try TLSPair(parties.client(), holder!)
    old.run()
    holder = try parties.server(parties.authority.server(names: ["localhost", "renewed"]))
    let new = try TLSPair(parties.client(), holder!)
    new.run()
    #expect(new.client.peerCertificate?.dnsNames == ["localhost", "renewed"])
    old.clientWrites([1, 2, 3])
    old.run()
    #expect(old.atServer == [1, 2, 3])
  }
}
