import EventLoop
import Foundation
import Glibc

/// A program of the system's as a TLS peer, with a certificate made for this run.
// SAFETY: nothing changes after the start; of the process only its number is read then.
final class Peer: @unchecked Sendable {
  struct NotReady: Error { let what: String }

  let port: UInt16
  private let process: Process

  private init(_ process: Process, port: UInt16) {
    self.process = process
    self.port = port
  }

  /// Starts a program and waits until it listens. It must be told to choose its own port.
  static func start(_ program: String, _ arguments: [String], in directory: TLSFiles) async throws -> Peer {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
    process.standardInput = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let deadline = MonotonicInstant.now().advanced(by: .seconds(10))
    while MonotonicInstant.now() < deadline {
      if let port = listeningPort(of: process.processIdentifier) { return Peer(process, port: port) }
      // The one way to learn that a foreign program listens is to look again.
      try await Task.sleep(for: .milliseconds(10))
    }
    kill(process.processIdentifier, SIGKILL)
    throw NotReady(what: program)
  }

  /// A child of a pool thread is born with most signals blocked, so asking it to end would not. Foundation reaps it; waiting
  /// for that would hold one of the test pool's two threads.
  func stop() { kill(process.processIdentifier, SIGKILL) }

  private static func listeningPort(of pid: Int32) -> UInt16? {
    let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")) ?? []
    let inodes = Set(
      descriptors.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/fd/\($0)") }
        .filter { $0.hasPrefix("socket:[") }.map { String($0.dropFirst(8).dropLast()) })
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
      for line in ((try? String(contentsOfFile: table, encoding: .utf8)) ?? "").split(separator: "\n").dropFirst() {
        let fields = line.split(separator: " ")
        guard fields.count > 9, fields[3] == "0A", inodes.contains(String(fields[9])) else { continue }
        return fields[1].split(separator: ":").last.flatMap { UInt16($0, radix: 16) }
      }
    }
    return nil
  }
}

/// A directory with a key and a self-signed certificate for `localhost`, removed with the last user.
final class TLSFiles: Sendable {
  let path: String
  var certificate: String { path + "/cert.pem" }
  var key: String { path + "/key.pem" }

  init() async throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("outbound-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    openssl.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
      "/CN=localhost",
      "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    ]
    openssl.standardError = FileHandle.nullDevice
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      openssl.terminationHandler = {
        $0.terminationStatus == 0 ? done.resume() : done.resume(throwing: Peer.NotReady(what: "openssl"))
      }
      do { try openssl.run() } catch { done.resume(throwing: error) }
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ name: String, _ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)")) }
}
