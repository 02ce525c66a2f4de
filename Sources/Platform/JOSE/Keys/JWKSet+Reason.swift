extension JWKSet {
  /// Why a key of a document is not used; new reasons may be added.
  public struct Reason: Error, Sendable, Hashable, CustomStringConvertible {
    /// The word that stands for the reason in logs.
    public let description: String

    /// It is no JSON object, or a member has the wrong type.
    public static let malformed = Reason(description: "malformed")
    /// It has no `kid`, so no token can name it.
    public static let keyIDMissing = Reason(description: "kid_missing")
    /// Its `kid` is not 1 to 256 printable ASCII characters.
    public static let keyIDInvalid = Reason(description: "kid_invalid")
    /// Another usable key has the same `kid`: neither is used.
    public static let keyIDDuplicate = Reason(description: "kid_duplicate")
    /// It is a shared secret, which a public document cannot hold.
    public static let symmetric = Reason(description: "symmetric_key")
    /// It holds private numbers: whoever published it gave it away.
    public static let privateKey = Reason(description: "private_key")
    /// Its `kty` is neither RSA nor EC.
    public static let typeNotSupported = Reason(description: "type_not_supported")
    /// Its `crv` is not P-256.
    public static let curveNotSupported = Reason(description: "curve_not_supported")
    /// Its `alg` is not the one of its kind, RS256 or ES256.
    public static let algorithmNotSupported = Reason(description: "algorithm_not_supported")
    /// Its `use` or `key_ops` does not include checking signatures.
    public static let useNotAllowed = Reason(description: "use_not_allowed")
    /// A number is missing, not canonical base64url, of the wrong length or begins with a zero byte.
    public static let numberInvalid = Reason(description: "number_invalid")
    /// The modulus has fewer than 2,048 or more than 8,192 bits.
    public static let modulusSize = Reason(description: "modulus_size")
    /// The modulus is even.
    public static let modulusEven = Reason(description: "modulus_even")
    /// The exponent is even, below 3 or longer than 64 bits.
    public static let exponentInvalid = Reason(description: "exponent_invalid")
    /// The point is not on the curve, or OpenSSL refuses the key.
    public static let keyRefused = Reason(description: "key_refused")
  }
}
