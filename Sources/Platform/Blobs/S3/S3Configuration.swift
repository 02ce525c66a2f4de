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
  /// The host that requests name: with the bucket where that is named so, and with the port unless it is the scheme's own.
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
  public var slowestRate: Int64 = 128 << 10
  /// How long a transfer of any size may take with its repetitions: a signature is 15 minutes old at most, or it is refused.
  static let longestTime = Duration.seconds(840)

  /// A bucket.
  ///
  /// - Parameters:
  ///   - endpoint: `https://host[:port]`, or `http://` where the way out allows that: to this machine.
  ///   - bucket: The bucket: 3 to 63 letters, digits, dots, dashes and underscores.
  ///   - prefix: What the keys begin with, of letters, digits, dots, dashes, underscores and single slashes within; empty for none.
  ///   - addressing: How the bucket is named.
  ///   - region: The region of the signature.
  ///   - credentials: Who signs.
  /// - Returns: Nil for an endpoint, a bucket or a prefix that is none.
  public init?(
    endpoint: String, bucket: String, prefix: String = "", addressing: Addressing = .path, region: String,
    credentials: SignatureV4.Credentials
  ) {
    guard let (scheme, host) = Self.endpoint(endpoint), Self.isBucket(bucket), Self.isPrefix(prefix) else { return nil }
    self.scheme = scheme
    self.host = addressing == .path ? host : "\(bucket).\(host)"
    self.bucket = bucket
    self.prefix = prefix
    self.addressing = addressing
    self.region = region
    self.credentials = credentials
  }

  /// How long a transfer of so many bytes may take.
  func time(for size: Int64) -> Duration { min(Self.longestTime, timeout + .seconds(size / max(1, slowestRate))) }

  /// The parts of a blob's path.
  func path(_ key: BlobKey) -> [String] { bucketPath + [prefixed(key.description)] }

  /// The parts of the bucket's own path.
  var bucketPath: [String] { addressing == .path ? [bucket] : [] }

  /// A name as the bucket has it.
  func prefixed(_ name: String) -> String { prefix.isEmpty ? name : "\(prefix)/\(name)" }

  // MARK: Texts

  /// Scheme and host of an endpoint, the host in lower case and without the scheme's own port; nil when it is none.
  static func endpoint(_ text: String) -> (scheme: String, host: String)? {
    guard let scheme = ["https", "http"].first(where: { text.hasPrefix("\($0)://") }) else { return nil }
    var host = text.dropFirst(scheme.count + 3).lowercased()
    if host.hasSuffix("/") { host.removeLast() }
    let own = scheme == "https" ? ":443" : ":80"
    if host.hasSuffix(own) { host.removeLast(own.count) }
    let isHost = host.utf8.allSatisfy { isLetterOrDigit($0) || "-.:[]".utf8.contains($0) }
    guard isHost, let first = host.utf8.first, isLetterOrDigit(first) || first == UInt8(ascii: "["), !host.hasSuffix(":") else {
      return nil
    }
    return (scheme, host)
  }

  static func isBucket(_ text: String) -> Bool { (3...63).contains(text.utf8.count) && isName(text) }

  static func isPrefix(_ text: String) -> Bool {
    text.isEmpty
      || text.utf8.count <= 255 && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { isName(String($0)) }
  }

  /// Nothing that is encoded, and no part that means another place.
  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.allSatisfy { isLetterOrDigit($0) || "-._".utf8.contains($0) }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
  }
}
