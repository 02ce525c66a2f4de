import WellKnown

/// What all files of a pool declare, by full name.
struct DeclarationIndex {
  struct Entry {
    let declaration: DescriptorPool.Declaration
    let syntax: Syntax
  }

  /// What the file's edition makes of fields that say nothing themselves.
  enum Syntax {
    case proto2
    case proto3
    /// Edition 2023 and later by their defaults: presence as in proto2, packed as in proto3. Features that say otherwise are
    /// not read; every parser takes repeated numbers either way, so only delimited messages would differ.
    case edition

    var hasImplicitPresence: Bool { self == .proto3 }
    var packsByDefault: Bool { self != .proto2 }
  }

  private(set) var files: [String: GoogleProtobuf.FileDescriptorProto] = [:]
  private(set) var declarations: [String: Entry] = [:]

  mutating func add(_ file: GoogleProtobuf.FileDescriptorProto) throws(DescriptorError) {
    guard let name = file.name, !name.isEmpty else { throw DescriptorError(.invalid, "a file has no name") }
    if let known = files[name] {
      guard known == file else { throw DescriptorError(.duplicate, "two files are called \(name.debugDescription)") }
      return
    }
    guard files.count < DescriptorPool.maximumFiles else {
      throw DescriptorError(.tooLarge, "more than \(DescriptorPool.maximumFiles) files")
    }
    let package = file.package ?? ""
    for part in package.isEmpty ? [] : package.split(separator: ".", omittingEmptySubsequences: false) {
      try Identifier.check(String(part), in: name.debugDescription)
    }
    let syntax: Syntax =
      switch file.syntax {
      case nil, "", "proto2": .proto2
      case "proto3": .proto3
      case "editions": .edition
      default: throw DescriptorError(.unsupported, "\(name.debugDescription) has a syntax that is not known")
      }
    var open = file.messageType.map { (scope: package, message: $0) }
    for item in file.enumType { try declare(item.name, in: package, .init(declaration: .enumeration(item), syntax: syntax)) }
    for item in file.service { try declare(item.name, in: package, .init(declaration: .service(item), syntax: syntax)) }
    // Without recursion: how deep messages are declared within each other is the sender's choice.
    while let (scope, message) = open.popLast() {
      let full = try declare(message.name, in: scope, .init(declaration: .message(message), syntax: syntax))
      for item in message.enumType { try declare(item.name, in: full, .init(declaration: .enumeration(item), syntax: syntax)) }
      open += message.nestedType.map { (full, $0) }
    }
    files[name] = file
  }

  @discardableResult
  private mutating func declare(_ name: String?, in scope: String, _ entry: Entry) throws(DescriptorError) -> String {
    let name = try Identifier.check(name, in: scope)
    let full = scope.isEmpty ? name : "\(scope).\(name)"
    guard declarations.updateValue(entry, forKey: full) == nil else {
      throw DescriptorError(.duplicate, "\(full) is declared twice")
    }
    guard declarations.count <= DescriptorPool.maximumDeclarations else {
      throw DescriptorError(.tooLarge, "more than \(DescriptorPool.maximumDeclarations) messages, enums and services")
    }
    return full
  }
}

/// Names of the `.proto` language. Whoever prints one may rely on it being letters, digits and underscores.
enum Identifier {
  /// The name, if it is one.
  @discardableResult
  static func check(_ name: String?, in scope: String) throws(DescriptorError) -> String {
    guard let name, isValid(name) else {
      throw DescriptorError(.invalid, "\((name ?? "").debugDescription) in \(scope.isEmpty ? "a file" : scope) is no name")
    }
    return name
  }

  static func isValid(_ name: String) -> Bool {
    guard let first = name.utf8.first, isLetter(first), name.utf8.count <= 1_000 else { return false }
    return name.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "_") }
}
