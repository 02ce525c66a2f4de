import EventLoop
import Glibc
import TestSupport
import Testing

@Suite("A process that is told to read its files again")
struct ReloadProcessTests {
  @Test("SIGHUP renews the certificate, systemd is told when it is done, and the process serves on")
  func hangup() async throws {
    let (first, second) = (TestAuthority(commonName: "first"), TestAuthority(commonName: "second"))
    let files = try TLSFiles(first.server())
    for (name, authority) in [("first.pem", first), ("second.pem", second)] {
      try files.folder.write(name, authority.certificate)
    }
    let supervisor = try NotifySocket()
    let process = try await DemoProcess.serving(
      [
        "--tls-listen", "127.0.0.1:0", "--tls-certificate", files.folder.file("tls.crt"), "--tls-key",
        files.folder.file("tls.key"), "--tls-watch-interval", "24h",
      ], environment: ["NOTIFY_SOCKET": supervisor.name])
    let port = try await process.port("tls")
    let get = { (roots: String) in
      try await DemoProcess.run([
        "curl", "-s", "-w", "%{http_code}", "--max-time", "20", "--cacert", files.folder.file(roots),
        "https://127.0.0.1:\(port)/hello",
      ]).output
    }
    try await supervisor.wait(for: "READY=1")
    #expect(try await get("first.pem") == "hello200")
    #expect(try await get("second.pem") == "000")
    try files.write(second.server())
    process.signal(SIGHUP)
    try await supervisor.wait(for: "RELOADING=1\nMONOTONIC_USEC=")
    try await supervisor.wait(for: "READY=1")
    #expect(process.log.contains("the TLS certificate is renewed"))
    #expect(try await get("second.pem") == "hello200")
    #expect(try await get("first.pem") == "000")
    // A key that does not fit: the log says why, and nothing changes.
    try files.folder.replace("tls.key", first.server().privateKey)
    process.signal(SIGHUP)
    try await supervisor.wait(for: "READY=1")
    #expect(process.log.contains("KEY_MISMATCH"))
    #expect(try await get("second.pem") == "hello200")
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
  }

  @Test("SIGHUP without TLS ends nothing")
  func nothing() async throws {
    let process = try await DemoProcess.serving()
    process.signal(SIGHUP)
    _ = try await process.wait("answer in the log") { process.log.contains("of which there are none") ? true : nil }
    #expect(try await DemoProcess.curl(process.port("grpc"), "/hello").contains("hello"))
    process.signal(SIGTERM)
    #expect(try await process.exitCode() == 0)
  }
}
