/// Why a private key cannot be read, made or used.
public struct KeyError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure; new kinds may be added.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the kind in logs.
    public let description: String

    /// The text holds no unencrypted private key in PEM.
    public static let pemInvalid = Code(description: "pem_invalid")
    /// The key is neither RSA nor on an elliptic curve.
    public static let typeNotSupported = Code(description: "type_not_supported")
    /// An RSA key has fewer than 2,048 or more than 8,192 bits.
    public static let sizeNotAllowed = Code(description: "size_not_allowed")
    /// The curve is not P-256.
    public static let curveNotSupported = Code(description: "curve_not_supported")
    /// The name is not 1 to 256 printable ASCII characters.
    public static let keyIDInvalid = Code(description: "key_id_invalid")
    /// OpenSSL failed to make, export or use the key: memory or randomness ran out.
    public static let operationFailed = Code(description: "operation_failed")
  }

  /// The kind of failure.
  public let code: Code

  /// A failure of that kind.
  public init(code: Code) { self.code = code }

  /// The kind; nothing of the key.
  public var description: String { code.description }
}
