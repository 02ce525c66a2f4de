/// Where the library keeps what outlives a call or the process: named entries of bytes, most of them JSON documents.
public protocol KeyValueStore: Sendable {
  /// The entry called `name`, or nil when there is none.
  ///
  /// - Throws: When the store cannot be read; an entry that is not there is no error.
  func load(_ name: String) async throws -> [UInt8]?

  /// Writes an entry whole: whoever reads at the same time gets the former bytes or these.
  func save(_ bytes: [UInt8], as name: String) async throws

  /// Removes an entry, if it is there.
  func remove(_ name: String) async throws

  /// Changes an entry by what it says: `change` gets the present bytes, nil for none, and returns the next ones, nil to remove it.
  ///
  /// Stores that several processes share let no other change come between.
  ///
  /// - Returns: The bytes that are there afterwards.
  func update(_ name: String, _ change: @escaping @Sendable ([UInt8]?) throws -> [UInt8]?) async throws -> [UInt8]?
}

/// Why a store did not do what it was asked.
public struct KeyValueStoreError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// A stable name.
    public let description: String

    /// Somebody else than the owner may read the file, or owns it, or it is no plain file.
    public static let notPrivate = Code(description: "not_private")
    /// The name of an entry is empty, too long or has other characters than `A-Z a-z 0-9 . _ -`.
    public static let invalidName = Code(description: "invalid_name")
    /// The system refused.
    public static let system = Code(description: "system")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, with names of files but nothing of what is in them.
  public let description: String

  init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
