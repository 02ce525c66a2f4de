import ArgumentParser
import Blobs
import Dispatch
import EventLoop
import Glibc
import JOSE
import Outbound
import PostgreSQL
import Synchronization
internal import Values

/// Where a bucket is, as options.
struct BucketPlace: ParsableArguments {
  @Option(help: "Where the store is: https://host[:port], or http:// on this machine.") var endpoint: String
  @Option(help: "The bucket.") var bucket: String
  @Option(help: "The region of the signature.") var region = "auto"
  @Option(help: "What keys begin with.") var prefix = ""
  @Flag(help: "Name the bucket in the host's name, as AWS has it, not in the path.") var virtualHost = false
  @Option(help: "A PEM file of roots to trust instead of the system's.") var ca: String?

  /// Runs `body` with the bucket, writes what it returns, and ends the process unless all went well.
  func run(_ body: @escaping @Sendable (S3BlobStore, BlockingPool) async throws -> BucketOutput) throws {
    let group = try EventLoopGroup(count: 1, name: "bucket")
    var outbound = HTTPClientConfiguration()
    outbound.caFile = ca
    let http = try HTTPClient(loops: group.loops, configuration: outbound)
    let store = S3BlobStore(try configuration(), over: http) { Int64(time(nil)) }
    let outcome = Mutex<Result<BucketOutput, any Error>>(.success(.done))
    let ended = DispatchSemaphore(value: 0)
    group.loops[0].spawn {
      let result: Result<BucketOutput, any Error>
      do { result = .success(try await body(store, group.blocking)) } catch { result = .failure(error) }
      outcome.withLock { $0 = result }
      await http.shutDown()
      ended.signal()
    }
    ended.wait()
    group.shutDown()
    switch outcome.withLock({ $0 }) {
    case .success(.done): return
    case .success(.text(let text)): BucketOutput.write(Array(text.utf8))
    case .success(.absent): throw ExitCode(1)
    case .failure(let error):
      LogLines.standardError.write("\(error)")
      throw ExitCode(2)
    }
  }

  private func configuration() throws -> S3Configuration {
    guard let accessKey = Self.variable("AWS_ACCESS_KEY_ID"), let secretKey = Self.variable("AWS_SECRET_ACCESS_KEY") else {
      throw ValidationError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set.")
    }
    let configuration = S3Configuration(
      endpoint: endpoint, bucket: bucket, prefix: prefix, addressing: virtualHost ? .virtualHost : .path, region: region,
      credentials: .init(accessKey: accessKey, secretKey: secretKey))
    guard let configuration else { throw ValidationError("The endpoint, the bucket or the prefix is none.") }
    return configuration
  }

  private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

/// What an action has to say.
enum BucketOutput: Sendable {
  /// Nothing more.
  case done
  /// A text for standard output.
  case text(String)
  /// That there is no such blob.
  case absent

  /// Writes to standard output; where nobody reads any more, the process ends by the signal.
  static func write(_ bytes: [UInt8]) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress.map { $0 + written }, bytes.count - written) }
      guard count > 0 || errno == EINTR else { return }
      written += max(0, count)
    }
  }
}

/// A person, as an argument.
struct OwnerArgument: ExpressibleByArgument {
  let id: UUID

  init?(argument: String) {
    guard let id = UUID(argument) else { return nil }
    self.id = id
  }
}

/// A blob's name, as an argument.
struct KeyArgument: ExpressibleByArgument {
  let key: BlobKey

  init?(argument: String) {
    guard let key = BlobKey(argument) else { return nil }
    self.key = key
  }
}

/// The names of content that is not in memory.
enum ContentName {
  static func key(of content: BlobContent, owner: UUID) async throws -> BlobKey {
    let hash = RunningSHA256()
    let next = try await content.open()
    while let piece = try await next() { hash.update(piece) }
    guard let key = BlobKey(owner: owner, digest: hash.finish()) else { preconditionFailure("SHA-256 has 32 bytes") }
    return key
  }
}
