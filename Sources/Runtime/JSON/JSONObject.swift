/// The members of a JSON object: distinct names in the order they were written.
///
/// Names are compared by their UTF-8 bytes. Small objects are searched one by one; from 16 members on a hash
/// index is kept, so that reading a large object stays linear in its size.
public struct JSONObject: Sendable {
  /// A name and its value.
  public struct Member: Sendable, Hashable {
    /// The name.
    public let name: String
    /// The value.
    public internal(set) var value: JSONValue

    /// Whether name and value are the same, byte by byte.
    public static func == (left: Member, right: Member) -> Bool {
      left.name.hasSameBytes(as: right.name) && left.value == right.value
    }

    /// Feeds what `==` compares.
    public func hash(into hasher: inout Hasher) {
      name.hashBytes(into: &hasher)
      hasher.combine(value)
    }
  }

  /// The number of members from which on a hash index is kept.
  static let indexedCount = 16

  /// The members, in order.
  public private(set) var members: [Member] = []
  private var positions: [NameBytes: Int] = [:]

  /// An object without members.
  public init() {}

  /// The members in order; of equal names the last one's value counts, at the first one's place.
  public init(_ members: some Sequence<(String, JSONValue)>) {
    for (name, value) in members { self[name] = value }
  }

  /// The number of members.
  public var count: Int { members.count }

  /// Whether there are no members.
  public var isEmpty: Bool { members.isEmpty }

  /// The value of that name. Setting keeps the member's place or appends; setting nil removes.
  public subscript(name: String) -> JSONValue? {
    get { position(of: name).map { members[$0].value } }
    set {
      guard let newValue else { return remove(name) }
      if let position = position(of: name) {
        members[position].value = newValue
      } else {
        append(name, newValue)
      }
    }
  }

  /// Appends a member unless its name is already there.
  ///
  /// - Returns: Whether the member was appended.
  mutating func appendIfNew(_ name: String, _ value: JSONValue) -> Bool {
    guard position(of: name) == nil else { return false }
    append(name, value)
    return true
  }

  private mutating func append(_ name: String, _ value: JSONValue) {
    members.append(Member(name: name, value: value))
    if members.count == Self.indexedCount {
      rebuildIndex()
    } else if members.count > Self.indexedCount {
      positions[NameBytes(name)] = members.count - 1
    }
  }

  private mutating func remove(_ name: String) {
    guard let position = position(of: name) else { return }
    members.remove(at: position)
    rebuildIndex()
  }

  private mutating func rebuildIndex() {
    positions = [:]
    guard members.count >= Self.indexedCount else { return }
    positions.reserveCapacity(members.count * 2)
    for (position, member) in members.enumerated() { positions[NameBytes(member.name)] = position }
  }

  private func position(of name: String) -> Int? {
    guard members.count < Self.indexedCount else { return positions[NameBytes(name)] }
    return members.firstIndex { $0.name.hasSameBytes(as: name) }
  }
}

extension JSONObject: Hashable {
  /// Whether both have the same members in the same order, byte by byte.
  public static func == (left: JSONObject, right: JSONObject) -> Bool { left.members == right.members }

  /// Feeds what `==` compares.
  public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
  /// The members in the order written; of equal names the last one's value counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}

extension JSONObject: Sequence {
  /// The members, in order.
  public func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }
}

extension JSONObject: CustomStringConvertible {
  /// The object as compact JSON text.
  public var description: String { JSONValue.object(self).description }
}
