import JSON

/// An immutable set of public keys, each under its own name. To change keys, swap the whole set.
public struct JWKSet: Sendable {
  /// The longest key set document that is read, in bytes. Google's has about 1 KiB for two keys.
  public static let maximumByteCount = 256 << 10
  /// The most keys a document may list, usable or not.
  public static let maximumKeyCount = 100

  /// A key of the document that is not used, and why.
  public struct Rejection: Sendable, Hashable, CustomStringConvertible {
    /// Its place in the document, from 0.
    public let index: Int
    /// Its name, if it has a printable one.
    public let keyID: String?
    /// Why it is not used.
    public let reason: Reason

    /// Place, name and reason, safe to log.
    public var description: String { "key \(index) (\(keyID ?? "no kid")): \(reason)" }
  }

  /// The keys that may be used, in the document's order.
  public let keys: [VerificationKey]
  /// The keys of the document that were dropped, for the log.
  public let rejections: [Rejection]
  private let keysByID: [String: VerificationKey]

  /// A set of own keys. Of keys with the same name none is used.
  public init(_ keys: [VerificationKey]) {
    self.init(judged: keys.enumerated().map { ($0.offset, $0.element) }, rejections: [])
  }

  /// Reads a JSON Web Key Set (RFC 7517). Each key is judged by itself: an unusable one is dropped and noted in
  /// ``rejections``, and never spoils the others. A set without usable keys is no error here.
  ///
  /// - Throws: ``JWKSetError`` if the document as a whole is unusable: keep the old set then.
  public init(parsing bytes: [UInt8]) throws(JWKSetError) {
    guard bytes.count <= Self.maximumByteCount else { throw JWKSetError(code: .tooLarge) }
    let document: JSONValue
    do {
      document = try JSONParser.parse(bytes, options: JSONParser.Options(maximumDepth: 16, requiresFiniteNumbers: true))
    } catch {
      throw JWKSetError(code: .notJSON, detail: error.description)
    }
    guard let elements = document["keys"]?.array else { throw JWKSetError(code: .noKeys) }
    guard elements.count <= Self.maximumKeyCount else { throw JWKSetError(code: .tooManyKeys) }
    var judged: [(Int, VerificationKey)] = []
    var rejections: [Rejection] = []
    for (index, element) in elements.enumerated() {
      do {
        judged.append((index, try VerificationKey(jwk: element)))
      } catch {
        let keyID = element["kid"]?.string.flatMap { KeyID.isValid($0) ? $0 : nil }
        rejections.append(Rejection(index: index, keyID: keyID, reason: error))
      }
    }
    self.init(judged: judged, rejections: rejections)
  }

  private init(judged: [(index: Int, key: VerificationKey)], rejections: [Rejection]) {
    let groups = Dictionary(grouping: judged, by: \.key.keyID)
    let ambiguous = judged.filter { groups[$0.key.keyID]!.count > 1 }
    let noted = ambiguous.map { Rejection(index: $0.index, keyID: $0.key.keyID, reason: .keyIDDuplicate) }
    self.rejections = (rejections + noted).sorted { $0.index < $1.index }
    keys = judged.map(\.key).filter { groups[$0.keyID]!.count == 1 }
    keysByID = Dictionary(uniqueKeysWithValues: keys.map { ($0.keyID, $0) })
  }

  /// The key of that name. There is no default key.
  public subscript(keyID: String) -> VerificationKey? { keysByID[keyID] }

  /// Whether no key may be used.
  public var isEmpty: Bool { keys.isEmpty }

  /// The document to publish: only what may be used.
  public func encoded() -> [UInt8] {
    JSONValue.object(["keys": .array(keys.map { .object($0.jwk) })]).encoded()
  }
}

/// Why a key set document is unusable as a whole.
public struct JWKSetError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of refusal; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The document is longer than ``JWKSet/maximumByteCount``.
    public static let tooLarge = Code(description: "key_set_too_large")
    /// The document is not strict JSON.
    public static let notJSON = Code(description: "key_set_not_json")
    /// The document is no object with an array `keys`.
    public static let noKeys = Code(description: "key_set_without_keys")
    /// The document lists more than ``JWKSet/maximumKeyCount`` keys.
    public static let tooManyKeys = Code(description: "key_set_too_many_keys")
  }

  /// The kind of refusal.
  public let code: Code
  /// More about it, safe to log.
  public let detail: String

  init(code: Code, detail: String = "") {
    self.code = code
    self.detail = detail
  }

  /// Kind and detail.
  public var description: String { detail.isEmpty ? code.description : "\(code): \(detail)" }
}
