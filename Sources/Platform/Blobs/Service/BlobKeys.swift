public import ServiceKit

/// The settings of where a service keeps blobs. Each is `PARLEY_<SERVICE>_BLOBS_<KEY>`.
public enum BlobKeys {
  /// Which store.
  public static let kind = ConfigurationKey<BlobStoreKind>(
    "blobs.kind", default: .file, "Where blobs are kept: file (blobs.directory) or s3 (a bucket).")
  /// The folder.
  public static let directory = ConfigurationKey<FilePath?>(
    optional: "blobs.directory", check: { $0?.path.hasPrefix("/") == false ? "from the root" : nil },
    "The folder for blobs.kind file, made where it is missing; several copies of a service have to share it.")
  /// The endpoint.
  public static let endpoint = ConfigurationKey<String?>(
    optional: "blobs.s3.endpoint", check: { $0.flatMap(endpointProblem) },
    "Where the bucket's store is: https://host, without the bucket.")
  /// The region.
  public static let region = ConfigurationKey<String>(
    "blobs.s3.region", default: "auto", check: { isWord($0) ? nil : "without blanks" },
    "The region that requests are signed for: AWS's own, or auto for R2.")
  /// The bucket.
  public static let bucket = ConfigurationKey<String?>(
    optional: "blobs.s3.bucket",
    check: { $0.map(S3Configuration.isBucket) == false ? "of 3 to 63 letters, digits, dots, dashes and underscores" : nil },
    "The bucket's name.")
  /// What keys begin with.
  public static let prefix = ConfigurationKey<String>(
    "blobs.s3.prefix", default: "",
    check: { S3Configuration.isPrefix($0) ? nil : "of letters, digits, dots, dashes and underscores, without a slash around it" },
    "What keys in the bucket begin with: services that share one need different ones.")
  /// The access key's name.
  public static let accessKeyID = ConfigurationKey<String?>(
    optional: "blobs.s3.accessKeyId", check: { $0.map(isWord) == false ? "without blanks" : nil },
    "The name of the access key.")
  /// The secret key.
  public static let secretAccessKey = ConfigurationKey<String?>(
    optional: "blobs.s3.secretAccessKey", isSecret: true, check: { $0.map(isWord) == false ? "without blanks" : nil },
    "The secret of the access key.")
  /// How the bucket is named.
  public static let pathStyle = ConfigurationKey<Bool>(
    "blobs.s3.pathStyle", default: true,
    "Whether the bucket is named in the path (R2, Ceph, MinIO), not in the host's name (AWS).")

  /// All of them, in the order of documentation.
  public static let all: [any ConfigurationKeyDeclaration] = [
    kind, directory, endpoint, region, bucket, prefix, accessKeyID, secretAccessKey, pathStyle,
  ]

  /// What is the matter with them together: half a configuration is none.
  public static func findings(_ settings: Settings) -> [ConfigurationFinding] {
    let given = [endpoint, bucket, accessKeyID, secretAccessKey].filter { settings[$0] != nil }
    switch settings[kind] {
    case .file:
      var findings = given.map { ConfigurationFinding.warning($0, "not used: blobs.kind is file") }
      if settings[directory] == nil { findings.append(.error(directory, "must be set when blobs.kind is file")) }
      return findings
    case .s3:
      var findings = [endpoint, bucket, accessKeyID, secretAccessKey].filter { settings[$0] == nil }
        .map { ConfigurationFinding.error($0, "must be set when blobs.kind is s3") }
      if settings[directory] != nil { findings.append(.warning(directory, "not used: blobs.kind is s3")) }
      return findings
    }
  }

  private static func isWord(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f } }

  /// Outbound speaks plain HTTP to this machine alone.
  private static func endpointProblem(_ text: String) -> String? {
    guard let (scheme, host) = S3Configuration.endpoint(text) else { return "https://host[:port] without a path" }
    let name = host.hasPrefix("[") ? host.prefix { $0 != "]" } + "]" : host.prefix { $0 != ":" }
    return scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(name) ? nil : "https:// except to this machine"
  }
}

/// Where blobs may be kept.
public enum BlobStoreKind: String, CaseIterable, ConfigurationValue {
  /// In files of this machine.
  case file
  /// In a bucket of S3 or what speaks like it.
  case s3
}
