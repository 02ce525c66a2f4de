/// A five-character condition code of PostgreSQL (its manual, appendix A).
///
/// This file is the one place that says what a code means to a caller: ``code`` and ``isRetryable``.
public struct SQLState: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  /// The five characters, as the server sent them.
  public let rawValue: String

  /// Wraps the characters of a code.
  public init(rawValue: String) { self.rawValue = rawValue }

  /// What is shown in logs.
  public var description: String { rawValue }

  /// A row with this key exists.
  public static let uniqueViolation = SQLState(rawValue: "23505")
  /// The row referred to does not exist, or is still referred to.
  public static let foreignKeyViolation = SQLState(rawValue: "23503")
  /// A CHECK constraint refused the row.
  public static let checkViolation = SQLState(rawValue: "23514")
  /// A column that must have a value got none.
  public static let notNullViolation = SQLState(rawValue: "23502")
  /// A write in a session or transaction that only reads.
  public static let readOnlyTransaction = SQLState(rawValue: "25006")
  /// Two transactions could not be put in an order.
  public static let serializationFailure = SQLState(rawValue: "40001")
  /// Two transactions waited for each other.
  public static let deadlockDetected = SQLState(rawValue: "40P01")
  /// NOWAIT or lock_timeout gave up on a lock.
  public static let lockNotAvailable = SQLState(rawValue: "55P03")
  /// The statement timeout, or a cancel request.
  public static let queryCanceled = SQLState(rawValue: "57014")
  /// The prepared statement is unknown to this session.
  public static let invalidStatementName = SQLState(rawValue: "26000")
  /// Also what a prepared statement answers once its result type has changed.
  public static let featureNotSupported = SQLState(rawValue: "0A000")
  /// A text is not of the database's encoding: here, one with U+0000.
  public static let characterNotInRepertoire = SQLState(rawValue: "22021")
  /// The same in a JSON document, written as an escape.
  public static let untranslatableCharacter = SQLState(rawValue: "22P05")
  /// The role may not do this.
  public static let insufficientPrivilege = SQLState(rawValue: "42501")
  /// An object of this name exists: a role, say.
  public static let duplicateObject = SQLState(rawValue: "42710")
  /// What the server calls a fault of its own; also two changes to one row of a catalogue.
  public static let internalError = SQLState(rawValue: "XX000")
  /// `RAISE EXCEPTION` in a function, without a code of its own.
  public static let raiseException = SQLState(rawValue: "P0001")

  /// The first two characters: the class of the condition.
  public var classCode: Substring { rawValue.prefix(2) }

  /// Whether the session is gone or refuses to serve: class 08, shutdown in its forms, and the end of connection slots.
  public var meansConnectionLoss: Bool {
    switch rawValue {
    case "57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "53300": true
    default: classCode == "08"
    }
  }

  /// Whether the same transaction, run again from its start, may well succeed.
  public var isRetryable: Bool { self == .serializationFailure || self == .deadlockDetected }

  /// What the condition means to a caller.
  public var code: DatabaseError.Code {
    if meansConnectionLoss { return .connectionLost }
    switch self {
    case .serializationFailure, .deadlockDetected, .lockNotAvailable: return .aborted
    case .queryCanceled: return .deadlineExceeded
    case .uniqueViolation: return .alreadyExists
    case .characterNotInRepertoire, .untranslatableCharacter: return .unstorableText
    case .readOnlyTransaction: return .readOnly
    case .insufficientPrivilege: return .permissionDenied
    default: break
    }
    switch classCode {
    case "23": return .constraintViolated
    case "53": return .outOfResources
    default: return .queryFailed
    }
  }
}
