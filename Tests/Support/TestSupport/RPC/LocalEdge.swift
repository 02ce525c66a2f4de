internal import Glibc

/// The edge proxy of a local run, as `deploy/local/edge.sh` configures it, in front of servers of this process.
///
/// It listens on every loopback address, so that callers may come from addresses of their own, and tells the servers which.
public final class LocalEdge: Sendable {
  /// Where it takes HTTP/1.1 and HTTP/2 without TLS.
  public let port: UInt16
  private let folder: ScratchFolder

  /// Starts the proxy, and returns once it answers. Blocks.
  ///
  /// - Parameter backends: The ports of the servers, which take turns.
  public init(before backends: [UInt16]) throws {
    folder = try ScratchFolder("parley-edge")
    try Self.run(
      "deploy/local/certificates.sh \"$PARLEY_LOCAL/tls\"; edge_start edge 0 0 \(backends.map(String.init).joined(separator: " "))",
      folder)
    let ports = try Self.read("\(folder.path)/edge/ports")
    guard let line = ports.split(separator: "\n").first(where: { $0.hasPrefix("http=") }), let port = UInt16(line.dropFirst(5))
    else {
      throw ProgramFailure(description: "the edge's ports are \(ports)")
    }
    self.port = port
  }

  /// Ends the proxy, by the id that was recorded. Blocks.
  public func stop() throws { try Self.run("process_stop edge", folder) }

  /// What it was started with.
  public func configuration() throws -> String { try Self.read("\(folder.path)/edge/nghttpx.conf") }

  private static func run(_ command: String, _ folder: ScratchFolder) throws {
    let root = #filePath.split(separator: "/").dropLast(5).joined(separator: "/")
    let script =
      "cd '/\(root)'; export PARLEY_LOCAL='\(folder.path)'; . deploy/local/processes.sh; . deploy/local/edge.sh; \(command)"
    do { try ChildProcess.run(["bash", "-c", script], output: "\(folder.path)/output") } catch {
      throw ProgramFailure(description: "\(error): \((try? read("\(folder.path)/output")) ?? "")")
    }
  }

  private static func read(_ path: String) throws -> String {
    guard let file = fopen(path, "re") else { throw ProgramFailure(description: "\(path): \(String(cString: strerror(errno)))") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}
