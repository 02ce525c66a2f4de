import Glibc
import Testing

@Suite("A service on a Unix socket")
struct UnixSocketTests {
  private static func get(_ path: String, _ what: String, _ more: [String] = []) async throws -> String {
    try await DemoProcess.run(
      ["curl", "-s", "--max-time", "20", "--http2-prior-knowledge", "--unix-socket", path] + more + ["http://localhost\(what)"]
    ).output
  }

  private static func serving(_ path: String, _ flags: [String] = []) async throws -> DemoProcess {
    let process = try DemoProcess(["serve", "--listen", "unix:\(path)", "--loops=1"] + flags)
    _ = try await process.wait("service") { process.log.contains("\"message\":\"serving\"") ? true : nil }
    return process
  }

  @Test("It has the mode of the settings, serves, and is gone afterwards; a killed process leaves one that the next replaces")
  func life() async throws {
    let folder = try TextFolder()
    let path = folder.file("demo.sock")
    for end in [SIGKILL, SIGTERM] {
      let process = try await Self.serving(path, ["--unix-mode", "0640", "--unix-group", "\(getegid())"])
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o640 && status.st_gid == getegid())
      #expect(try await Self.get(path, "/hello") == "hello")
      let probe = try await DemoProcess.run([DemoProcess.program, "health", "--address", "unix:\(path)"])
      #expect(probe.code == 0 && probe.output == "serving\n")
      // A second one does not take the place of one that is served.
      #expect(try await DemoProcess.run([DemoProcess.program, "serve", "--listen", "unix:\(path)"]).code == 75)
      process.signal(end)
      #expect(try await process.exitCode() == (end == SIGKILL ? 137 : 0))
      #expect((access(path, F_OK) == 0) == (end == SIGKILL))
    }
  }

  @Test("B-17: its clients are `unix`, and a proxy there is believed only when it is trusted")
  func clientAddress() async throws {
    let folder = try TextFolder()
    let header = ["-H", "x-forwarded-for: 203.0.113.9"]
    let open = try await Self.serving(folder.file("open.sock"))
    #expect(try await Self.get(folder.file("open.sock"), "/client", header) == "unix")
    let behind = try await Self.serving(folder.file("behind.sock"), ["--trusted-proxies", "unix"])
    #expect(try await Self.get(folder.file("behind.sock"), "/client", header) == "203.0.113.9")
    for process in [open, behind] {
      process.signal(SIGTERM)
      #expect(try await process.exitCode() == 0)
    }
  }

  @Test("A group that does not exist is a wrong setting")
  func wrongGroup() async throws {
    let result = try await DemoProcess.run([DemoProcess.program, "serve", "--unix-group", "no-such-group-here"])
    #expect(result.code == 78 && result.output.contains("unix.group"))
  }
}
