import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

@Suite("Sandbox: the program") struct SandboxProcessTests {
  @Test("It writes its ports and a private key file, serves, and ends with 0 on SIGTERM")
  func serve() async throws {
    let leaf = TestAuthority().server()
    let (certificate, key) = (try ScratchFile(leaf.certificateChain), try ScratchFile(leaf.privateKey))
    let portFile = try ScratchFile([])
    var template = Array("/tmp/parley-sandbox-XXXXXX".utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    defer {
      unlink(folder + "/service-account.json")
      unlink(folder + "/apple-key.p8")
      rmdir(folder)
    }
    let process = try ToolProcess(
      "parley-sandbox",
      [
        "serve", "--certificate", certificate.path, "--key", key.path, "--port-file", portFile.path, "--state-directory", folder,
        "--plain-port", "0",
      ])
    let ports = try await FileContents.awaited(portFile.path, within: .seconds(20))
    #expect(ports.split(separator: "\n").map { $0.split(separator: "=").first } == ["tls", "plain"])
    var status = stat()
    #expect(stat(folder + "/service-account.json", &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(stat(folder + "/apple-key.p8", &status) == 0 && status.st_mode & 0o777 == 0o600)
    let account = try parsed(ToolProcess.text(folder + "/service-account.json"))
    #expect(account["token_uri"]?.string?.hasPrefix("https://localhost:") == true)
    kill(process.process, SIGTERM)
    let ending = try await process.ending()
    #expect(ending.status == 0)
    #expect(ending.errors.contains("ending (SIGTERM)"))
    #expect(!ending.errors.contains("PRIVATE KEY"))
  }

  @Test("Without a certificate it ends with 64")
  func usage() async throws {
    let ending = try await ToolProcess("parley-sandbox", ["serve"]).ending()
    #expect(ending.status == 64)
    #expect(ending.errors.contains("--certificate"))
  }
}

/// A file that another process writes.
enum FileContents {
  /// What the file holds once it holds anything; a failure when that takes too long.
  static func awaited(_ path: String, within limit: Duration) async throws -> String {
    let end = MonotonicInstant.now().advanced(by: limit)
    while MonotonicInstant.now() < end {
      let text = ToolProcess.text(path)
      if !text.isEmpty { return text }
      try await Task.sleep(for: .milliseconds(10))  // between two looks
    }
    throw ToolFailure(description: "\(path) stays empty")
  }
}
