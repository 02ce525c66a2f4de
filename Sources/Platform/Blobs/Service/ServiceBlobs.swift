public import EventLoop
public import Outbound
public import ServiceKit

/// The blobs of a service.
///
/// ```swift
/// static let configuration = … + BlobKeys.all
/// static func check(_ settings: Settings) -> [ConfigurationFinding] { … + BlobKeys.findings(settings) }
/// static func build(_ context: ServiceContext) async throws -> ServiceParts {
///   let store = try await ServiceBlobs.store(context)
/// ```
public enum ServiceBlobs {
  /// The store that a service's settings name. A bucket is not asked for anything yet.
  ///
  /// - Parameter context: What the service is built from; its configuration lists ``BlobKeys/all``.
  /// - Throws: `ConfigurationError` for half a configuration, or a folder that cannot be used.
  public static func store(_ context: ServiceContext) async throws -> any BlobStore {
    try await store(context.settings, on: context.loops, over: context.outbound, clock: context.clock)
  }

  /// The same, for whoever has no context.
  ///
  /// - Parameters:
  ///   - settings: The settings, with ``BlobKeys/all``.
  ///   - loops: Whose pool makes the calls that block.
  ///   - http: The way out.
  ///   - clock: The time of day, for signatures.
  /// - Throws: `ConfigurationError` for half a configuration, or a folder that cannot be used.
  public static func store(
    _ settings: Settings, on loops: EventLoopGroup, over http: HTTPClient, clock: WallClock = .system
  ) async throws -> any BlobStore {
    let problems = BlobKeys.findings(settings).filter { $0.severity == .error }
    guard problems.isEmpty else { throw ConfigurationError(problems.map { problem(settings, $0.key, $0.message) }) }
    switch settings[BlobKeys.kind] {
    case .file:
      let folder = settings[BlobKeys.directory]?.path ?? ""
      do throws(BlobError) { return try await FileBlobStore(in: folder, pool: loops.blocking) } catch {
        throw ConfigurationError([problem(settings, BlobKeys.directory.name, "cannot be used: \(error.message)")])
      }
    case .s3:
      guard let configuration = configuration(settings) else {
        throw ConfigurationError([problem(settings, BlobKeys.endpoint.name, "with its bucket and prefix no address of blobs")])
      }
      return S3BlobStore(configuration, over: http) { clock.unixSeconds }
    }
  }

  private static func configuration(_ settings: Settings) -> S3Configuration? {
    guard let endpoint = settings[BlobKeys.endpoint], let bucket = settings[BlobKeys.bucket],
      let accessKey = settings[BlobKeys.accessKeyID], let secretKey = settings[BlobKeys.secretAccessKey]
    else { return nil }
    return S3Configuration(
      endpoint: endpoint, bucket: bucket, prefix: settings[BlobKeys.prefix],
      addressing: settings[BlobKeys.pathStyle] ? .path : .virtualHost, region: settings[BlobKeys.region],
      credentials: .init(accessKey: accessKey, secretKey: secretKey))
  }

  private static func problem(_ settings: Settings, _ key: String, _ message: String) -> ConfigurationError.Problem {
    let entry = settings.entries.first { $0.key.name == key }
    return .init(key: key, variable: entry?.variable ?? key, source: entry?.source, message)
  }
}
