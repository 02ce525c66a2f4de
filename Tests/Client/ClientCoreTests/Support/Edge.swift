import Foundation
import Glibc
import TestSupport

/// The edge proxy in front of a server, as a local run configures it: HTTP/1.1 for callers, HTTP/2 without TLS behind.
struct Edge {
  let port: UInt16
  private let process: pid_t
  private let folder: URL

  static let isInstalled = ProcessInfo.processInfo.environment["PATH", default: ""].split(separator: ":").contains {
    access("\($0)/nghttpx", X_OK) == 0
  }

  /// Starts a proxy on a port that was free a moment ago. Whether it listens, the first call tells.
  init(inFrontOf backend: UInt16) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "parley-edge-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // A server that is closed at once leaves a port that nobody has.
    let probe = try ScriptedServer { _, _ in }
    port = probe.port
    probe.close()
    let configuration = """
      frontend=127.0.0.1,\(port);no-tls
      single-process=yes
      workers=1
      no-via=yes
      accesslog-file=/dev/null
      errorlog-file=/dev/stderr
      backend=127.0.0.1,\(backend);/;proto=h2
      """
    let file = folder.appending(path: "nghttpx.conf").path
    try Data(configuration.utf8).write(to: URL(filePath: file))
    process = try ChildProcess.start(["nghttpx", "--conf=\(file)"], output: folder.appending(path: "log").path)
  }

  /// The address to call.
  var url: URL { URL(string: "http://127.0.0.1:\(port)")! }

  /// Ends the proxy.
  func stop() {
    kill(process, SIGKILL)
    ChildProcess.wait(process)
    try? FileManager.default.removeItem(at: folder)
  }
}
