/// Where a bucket is, and who may use it.
public struct S3Configuration: Sendable {
  /// How the bucket is named in a URL.
  public enum Addressing: Sendable, Hashable {
    /// `https://host/bucket/key`: R2, Ceph, and most others.
    case path
    /// `https://bucket.host/key`: AWS.
    case virtualHost
  }

  /// The endpoint's scheme, `https` or `http`.
  public let scheme: String
  /// The endpoint's host, with its port unless it is the scheme's own.
  public let host: String
  /// The bucket.
  public let bucket: String
  /// What the keys begin with, without slashes around it; empty for none.
  public let prefix: String
  /// How the bucket is named.
  public let addressing: Addressing
  /// The region of the signature: AWS's own, or `auto` for R2.
  public let region: String
  /// Who signs.
  public let credentials: SignatureV4.Credentials
  /// How long one request may take beside the time for its bytes.
  public var timeout = Duration.seconds(30)
  /// The least bytes per second that a transfer is given time for.
  public var slowestRate: Int64 = 64 << 10

  /// A bucket; nil unless `endpoint` is `https://host[:port]`, or `http://` for tests.
  ///
  /// - Parameters:
  ///   - endpoint: The endpoint without bucket and path.
  ///   - bucket: The bucket.
  ///   - prefix: What the keys begin with; empty for none.
  ///   - addressing: How the bucket is named.
  ///   - region: The region of the signature.
  ///   - credentials: Who signs.
  public init?(
    endpoint: String, bucket: String, prefix: String = "", addressing: Addressing = .path, region: String,
    credentials: SignatureV4.Credentials
  ) {
    guard let scheme = ["https", "http"].first(where: { endpoint.hasPrefix("\($0)://") }) else { return nil }
    var host = endpoint.dropFirst(scheme.count + 3).lowercased()
    if host.hasSuffix("/") { host.removeLast() }
    let own = scheme == "https" ? ":443" : ":80"
    if host.hasSuffix(own) { host.removeLast(own.count) }
    guard !host.isEmpty, !bucket.isEmpty, !host.utf8.contains(where: { [0x2f, 0x3f, 0x23, 0x40].contains($0) || $0 <= 0x20 }) else {
      return nil
    }
    self.scheme = scheme
    self.host = addressing == .path ? host : "\(bucket).\(host)"
    self.bucket = bucket
    self.prefix = prefix
    self.addressing = addressing
    self.region = region
    self.credentials = credentials
  }

  func path(_ key: BlobKey) -> [String] {
    (addressing == .path ? [bucket] : []) + (prefix.isEmpty ? [] : [prefix]) + [key.description]
  }
}
