import AuthAPI
import DemoService
import EventLoop
import Glibc
import Logging
import ParleyAPI
import ServiceKit
import TestSupport

/// A second service with notes of people, which can go down and come back at the same address.
final class DemoHolder: Sendable {
  let name: String
  let folder: String
  private let authority: String
  private let reservation: Int32
  private let port: UInt16

  /// A holder that is down. `directory` is the fixture's; everything in it goes with it.
  init(_ name: String, in directory: String, _ authority: TestAuthority) throws {
    self.name = name
    folder = "\(directory)/\(name)"
    self.authority = "\(directory)/\(name)-tls"
    guard mkdir(folder, 0o700) == 0, mkdir(self.authority, 0o700) == 0 else { throw TimedOut("a folder that could be made") }
    let server = authority.server()
    for (file, bytes) in [
      ("ca", authority.certificate), ("cert", server.certificateChain), ("key", server.privateKey),
    ] { try BrokerFixture.write(bytes, to: "\(self.authority)/\(file).pem") }
    // Bound and not listening: nobody else gets the port, and whoever connects is refused.
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { sockaddr in
        bind(descriptor, sockaddr, length) == 0 && getsockname(descriptor, sockaddr, &length) == 0
      }
    }
    (reservation, port) = (descriptor, UInt16(bigEndian: address.sin_port))
    guard bound else { throw TimedOut("a port that could be had") }
  }

  deinit { close(reservation) }

  /// As `ACCOUNT_DATA_SERVICES` names it.
  var setting: String { "\(name)=https://127.0.0.1:\(port)" }

  /// Runs `body` while the service is up.
  func up<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
    let settings = try Settings(
      service: "demo", keys: DemoService.configuration + StandardKeys.all(database: false),
      environment: [
        "PARLEY_DEMO_LISTEN": "127.0.0.1:0", "PARLEY_DEMO_TLS_LISTEN": "127.0.0.1:\(port)", "PARLEY_DEMO_LOOPS": "1",
        "PARLEY_DEMO_TLS_CERTIFICATE": "\(authority)/cert.pem", "PARLEY_DEMO_TLS_KEY": "\(authority)/key.pem",
        "PARLEY_DEMO_TLS_CLIENT_CA": "\(authority)/ca.pem",
        "PARLEY_DEMO_TLS_CLIENT_IDENTITIES": "AccountDataService=\(AccountDataWorld.identity)",
        "PARLEY_DEMO_NOTES": folder, "PARLEY_DEMO_DRAIN_TIMEOUT": "2s",
      ])
    let instance = try await ServiceInstance.start(
      DemoService.self, settings: settings, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let serving = Task { try await instance.run() }
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    instance.stop()
    try await serving.value
    return try result.get()
  }

  // MARK: Notes

  /// Gives a person notes, by name and text.
  func add(_ notes: [String: [UInt8]], of user: String) throws {
    mkdir("\(folder)/\(user)", 0o700)
    for (name, text) in notes { try BrokerFixture.write(text, to: "\(folder)/\(user)/\(name)") }
  }

  /// Whether a person has this note.
  func has(_ note: String, of user: String) -> Bool { access("\(folder)/\(user)/\(note)", F_OK) == 0 }

  /// Makes deletions go wrong: `stuck` or `liar`; or lets them go right again.
  func set(_ trouble: String, _ isOn: Bool) throws {
    if isOn { try BrokerFixture.write([], to: "\(folder)/\(trouble)") } else { unlink("\(folder)/\(trouble)") }
  }
}
