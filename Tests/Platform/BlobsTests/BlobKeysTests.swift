import Blobs
import EventLoop
import Outbound
import PostgreSQL
import ServiceKit
import TestSupport
import Testing
import Values

@Suite("Settings of blobs") struct BlobKeysTests {
  private static let bucket = [
    "PARLEY_DEMO_BLOBS_KIND": "s3", "PARLEY_DEMO_BLOBS_S3_ENDPOINT": "https://account.r2.cloudflarestorage.com",
    "PARLEY_DEMO_BLOBS_S3_BUCKET": "recordings", "PARLEY_DEMO_BLOBS_S3_ACCESS_KEY_ID": "name",
    "PARLEY_DEMO_BLOBS_S3_SECRET_ACCESS_KEY": "secret",
  ]

  private func findings(_ environment: [String: String]) throws -> [String] {
    let settings = try Settings(service: "demo", keys: BlobKeys.all, environment: environment)
    return BlobKeys.findings(settings).map { "\($0.severity) \($0.key)" }
  }

  @Test("A folder is enough for files, and a bucket with its key for a bucket")
  func whole() throws {
    #expect(try findings(["PARLEY_DEMO_BLOBS_DIRECTORY": "/var/lib/parley/blobs"]).isEmpty)
    #expect(try findings(Self.bucket).isEmpty)
  }

  @Test("Files without a folder are refused")
  func withoutFolder() throws { #expect(try findings([:]) == ["error blobs.directory"]) }

  @Test(
    "A bucket of which something is missing is refused with the name of what is",
    arguments: [
      ("ENDPOINT", "endpoint"), ("BUCKET", "bucket"), ("ACCESS_KEY_ID", "accessKeyId"), ("SECRET_ACCESS_KEY", "secretAccessKey"),
    ])
  func half(variable: String, key: String) throws {
    #expect(try findings(Self.bucket.filter { $0.key != "PARLEY_DEMO_BLOBS_S3_\(variable)" }) == ["error blobs.s3.\(key)"])
  }

  @Test("What is given and not used is told")
  func unused() throws {
    let both = Self.bucket.merging(["PARLEY_DEMO_BLOBS_DIRECTORY": "/blobs"]) { $1 }
    #expect(try findings(both) == ["warning blobs.directory"])
    let files = both.merging(["PARLEY_DEMO_BLOBS_KIND": "file"]) { $1 }
    #expect(
      try findings(files)
        == ["endpoint", "bucket", "accessKeyId", "secretAccessKey"].map { "warning blobs.s3.\($0)" })
  }

  @Test(
    "A value that cannot be is refused",
    arguments: [
      ("KIND", "gcs"), ("DIRECTORY", "blobs"), ("S3_ENDPOINT", "host"), ("S3_ENDPOINT", "https://host/path"),
      ("S3_ENDPOINT", "http://store.internal:9000"), ("S3_ENDPOINT", "http://127.0.0.1.example.com"), ("S3_REGION", "two words"),
      ("S3_BUCKET", "a/b"), ("S3_PREFIX", "../a"), ("S3_ACCESS_KEY_ID", "two words"), ("S3_SECRET_ACCESS_KEY", "two words"),
      ("S3_PATH_STYLE", "perhaps"),
    ])
  func refused(variable: String, value: String) {
    let environment = Self.bucket.merging(["PARLEY_DEMO_BLOBS_\(variable)": value]) { $1 }
    let error = #expect(throws: ConfigurationError.self) {
      try Settings(service: "demo", keys: BlobKeys.all, environment: environment)
    }
    #expect(error?.problems.map(\.variable) == ["PARLEY_DEMO_BLOBS_\(variable)"])
  }

  @Test("To this machine plain HTTP is fine", arguments: ["http://127.0.0.1:9000", "http://localhost", "http://[::1]:9000"])
  func loopback(endpoint: String) throws {
    #expect(try findings(Self.bucket.merging(["PARLEY_DEMO_BLOBS_S3_ENDPOINT": endpoint]) { $1 }).isEmpty)
  }

  @Test("The secret is never shown")
  func secret() throws {
    let settings = try Settings(service: "demo", keys: BlobKeys.all, environment: Self.bucket)
    #expect(!settings.entries.contains { $0.shown.contains("secret") })
    #expect(settings.entries.filter(\.key.isSecret).map(\.key.name) == ["blobs.s3.secretAccessKey"])
  }

  // MARK: Building

  private func build(_ environment: [String: String], _ body: (any BlobStore) async throws -> Void) async throws {
    let loops = try EventLoopGroup(count: 1, name: "blobs")
    let http = try HTTPClient(loops: loops.loops)
    let outcome: Result<Void, any Error>
    do {
      let settings = try Settings(service: "demo", keys: BlobKeys.all, environment: environment)
      outcome = .success(try await body(try await ServiceBlobs.store(settings, on: loops, over: http)))
    } catch { outcome = .failure(error) }
    await http.shutDown()
    loops.shutDown()
    try outcome.get()
  }

  @Test("The settings make the store that they name")
  func built() async throws {
    let folder = try ScratchFolder("blobs")
    try await build(["PARLEY_DEMO_BLOBS_DIRECTORY": "\(folder.path)/blobs"]) { store in
      let key = try await store.put([1, 2, 3], of: UUID(high: 1, low: 2), type: "a/b")
      #expect(try await store.get(key, atMost: 3) == [1, 2, 3] && folder.files.contains("blobs/\(key)"))
    }
    let key = BlobKey(owner: UUID(high: 1, low: 2), content: [1])
    try await build(Self.bucket.merging(["PARLEY_DEMO_BLOBS_S3_PREFIX": "onboarding"]) { $1 }) { store in
      let link = try store.link(key, for: .download, lifetime: .seconds(60))
      #expect(link.hasPrefix("https://account.r2.cloudflarestorage.com/recordings/onboarding/\(key)?X-Amz-Algorithm="))
      #expect(link.contains("%2Fauto%2Fs3%2Faws4_request"))
    }
    let aws = ["PARLEY_DEMO_BLOBS_S3_PATH_STYLE": "false", "PARLEY_DEMO_BLOBS_S3_REGION": "eu-west-1"]
    try await build(Self.bucket.merging(aws) { $1 }) { store in
      let link = try store.link(key, for: .upload, lifetime: .seconds(60))
      #expect(link.hasPrefix("https://recordings.account.r2.cloudflarestorage.com/\(key)?") && link.contains("eu-west-1"))
    }
  }

  @Test("Half a configuration, and a folder that cannot be used, end the start with the key's name")
  func notBuilt() async throws {
    let folder = try ScratchFolder("blobs")
    for (environment, key) in [
      ([:], "blobs.directory"), (["PARLEY_DEMO_BLOBS_DIRECTORY": "\(folder.path)/a/b"], "blobs.directory"),
      (Self.bucket.filter { $0.key != "PARLEY_DEMO_BLOBS_S3_BUCKET" }, "blobs.s3.bucket"),
    ] {
      let error = await #expect(throws: ConfigurationError.self) { try await build(environment) { _ in } }
      #expect(error?.problems.map(\.key) == [key])
    }
  }
}
