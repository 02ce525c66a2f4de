internal import JSON
internal import OpenID

/// A credential configuration file of type `external_account`: how a token of another identity provider becomes one of Google's
/// (workload identity federation). It names places and holds no key.
public struct CredentialConfiguration: Sendable {
  /// Where the other provider's token is.
  enum Subject: Sendable {
    /// In a file that somebody keeps up to date.
    case file(path: String)
    /// At an address.
    case url(String, headers: [(name: String, value: String)])
  }

  /// Whom the token is for: `//iam.googleapis.com/projects/<number>/…/providers/<name>`.
  let audience: String
  let subjectTokenType: String
  /// Where tokens are exchanged.
  let tokenURL: String
  let subject: Subject
  /// The member of a JSON document that is the token; nil when the document is the token.
  let subjectField: String?
  /// Where the exchanged token is turned into an account's; nil when it is used as it is.
  let impersonationURL: String?
  let impersonationLifetime: Duration

  /// The account whose tokens come out; nil when they are the federated identity's own.
  public let account: ServiceAccountName?

  /// Reads a file.
  ///
  /// - Throws: ``CredentialConfigurationError``, naming the member that is wrong; nothing of the file is in it.
  public init(json: String) throws(CredentialConfigurationError) {
    guard let object = try? JSONParser.parse(json).object else { throw .init("it is not a JSON object") }
    guard try object.text("type") == "external_account" else {
      throw .init("type is not external_account: it is the file of something else")
    }
    audience = try object.text("audience")
    subjectTokenType = try object.text("subject_token_type")
    tokenURL = try object.address("token_url", Self.isSafe)
    guard let source = object["credential_source"]?.object else { throw .init("credential_source is missing, or no object") }
    subject = try Self.subject(source)
    subjectField = try Self.field(source["format"])
    (impersonationURL, account) = try Self.impersonation(object)
    impersonationLifetime = .seconds(try Self.lifetime(object["service_account_impersonation"]))
  }

  private static func subject(_ source: JSONObject) throws(CredentialConfigurationError) -> Subject {
    for name in ["environment_id", "executable", "certificate"] where source[name] != nil {
      throw .init("credential_source.\(name) is not supported; file and url are")
    }
    switch (source["file"], source["url"]) {
    case (_?, nil): return .file(path: try source.text("file"))
    case (nil, _?):
      let url = try source.address("url") { isSafe($0) || isLinkLocal($0) }
      var headers: [(name: String, value: String)] = []
      for member in source["headers"]?.object ?? [:] {
        guard let value = member.value.string else { throw .init("credential_source.headers has a value that is no text") }
        headers.append((member.name, value))
      }
      return .url(url, headers: headers)
    default: throw .init("credential_source has neither file nor url, or both")
    }
  }

  private static func field(_ format: JSONValue?) throws(CredentialConfigurationError) -> String? {
    guard let format else { return nil }
    switch format["type"]?.string {
    case "text": return nil
    case "json":
      guard let name = format["subject_token_field_name"]?.string, !name.isEmpty else {
        throw .init("credential_source.format.subject_token_field_name is missing")
      }
      return name
    default: throw .init("credential_source.format.type is neither text nor json")
    }
  }

  private static func impersonation(
    _ object: JSONObject
  ) throws(CredentialConfigurationError) -> (url: String?, account: ServiceAccountName?) {
    guard object["service_account_impersonation_url"] != nil else { return (nil, nil) }
    let url = try object.address("service_account_impersonation_url", isSafe)
    let suffix = ":generateAccessToken"
    let last = url.split(separator: "/").last.map(String.init) ?? ""
    guard last.hasSuffix(suffix), let account = ServiceAccountName(String(last.dropLast(suffix.count))) else {
      throw .init("service_account_impersonation_url does not end in <account>:generateAccessToken")
    }
    return (url, account)
  }

  private static func lifetime(_ impersonation: JSONValue?) throws(CredentialConfigurationError) -> Int64 {
    guard let seconds = impersonation?["token_lifetime_seconds"] else { return 3600 }
    guard let number = seconds.int64, (600...43_200).contains(number) else {
      throw .init("service_account_impersonation.token_lifetime_seconds is not a number from 600 to 43200")
    }
    return number
  }

  /// Whatever is sent there is protected, or stays on this machine.
  static func isSafe(_ url: String) -> Bool {
    url.hasPrefix("https://") || isPlain(url) { $0 == "localhost" || $0 == "127.0.0.1" || $0 == "[::1]" }
  }

  /// Whether it is a metadata server's address.
  static func isLinkLocal(_ url: String) -> Bool { isPlain(url, MetadataServer.isHost) }

  private static func isPlain(_ url: String, _ admits: (String) -> Bool) -> Bool {
    guard url.hasPrefix("http://") else { return false }
    let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    // A user before the host would make another host of what looks like one.
    guard !authority.contains("@") else { return false }
    let port = authority.lastIndex(of: ":").flatMap { UInt16(authority[authority.index(after: $0)...]) == nil ? nil : $0 }
    return admits(String(port.map { authority[..<$0] } ?? authority))
  }
}

/// What is wrong with a credential configuration file.
public struct CredentialConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong, for the operator.
  public let description: String

  init(_ description: String) { self.description = description }
}

extension JSONObject {
  fileprivate func text(_ name: String) throws(CredentialConfigurationError) -> String {
    guard let value = self[name] else { throw .init("\(name) is missing") }
    guard let text = value.string, !text.trimmed.isEmpty else { throw .init("\(name) is not a text, or empty") }
    return text
  }

  fileprivate func address(
    _ name: String, _ isAllowed: (String) -> Bool
  ) throws(CredentialConfigurationError) -> String {
    let url = try text(name)
    guard isAllowed(url) else { throw .init("\(name) is not an https:// address") }
    return url
  }
}
