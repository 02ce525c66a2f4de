internal import MessagesCore
internal import MessagesWire
internal import WellKnown

/// The `.proto` files behind a server's services, with everything that they declare indexed by name.
///
/// Made once and never changed, so every stream of every loop reads the same.
final class ReflectedFiles: Sendable {
  /// One extension: the message that it extends and its number there.
  struct ExtensionKey: Hashable {
    let extendee: String
    let number: Int32
  }

  /// The files by the names that `import` statements use.
  let byName: [String: FileDescriptor]
  /// The file that declares each symbol, by the symbol's full name.
  let bySymbol: [String: FileDescriptor]
  /// The file that declares each extension.
  let byExtension: [ExtensionKey: FileDescriptor]
  /// The full names of all messages.
  let messages: Set<String>

  /// Reads these files and all that they import, directly or not.
  init(_ roots: [FileDescriptor]) {
    var index = SymbolIndex()
    var open = roots
    while let file = open.popLast() {
      guard index.files.updateValue(file, forKey: file.name) == nil else { continue }
      index.add(file)
      open += file.dependencies
    }
    (byName, bySymbol) = (index.files, index.symbols)
    (byExtension, messages) = (index.extensions, index.messages)
  }

  /// The numbers of the extensions of a message, ascending.
  func extensionNumbers(of message: String) -> [Int32] {
    byExtension.keys.filter { $0.extendee == message }.map(\.number).sorted()
  }
}

/// Collects what files declare.
private struct SymbolIndex {
  var files: [String: FileDescriptor] = [:]
  var symbols: [String: FileDescriptor] = [:]
  var extensions: [ReflectedFiles.ExtensionKey: FileDescriptor] = [:]
  var messages: Set<String> = []

  mutating func add(_ file: FileDescriptor) {
    // Generated from what protoc wrote; one that cannot be read has no symbols, and is still found by its name.
    guard let proto = try? GoogleProtobuf.FileDescriptorProto(protobuf: file.serialized) else { return }
    let scope = proto.package ?? ""
    for message in proto.messageType { add(message, in: scope, file) }
    for item in proto.enumType { add(item, in: scope, file) }
    for item in proto.`extension` { add(extension: item, in: scope, file) }
    for service in proto.service {
      let name = declare(service.name, in: scope, file)
      for method in service.method { declare(method.name, in: name, file) }
    }
  }

  private mutating func add(_ message: GoogleProtobuf.DescriptorProto, in scope: String, _ file: FileDescriptor) {
    let name = declare(message.name, in: scope, file)
    messages.insert(name)
    for field in message.field { declare(field.name, in: name, file) }
    for oneof in message.oneofDecl { declare(oneof.name, in: name, file) }
    for nested in message.nestedType { add(nested, in: name, file) }
    for item in message.enumType { add(item, in: name, file) }
    for item in message.`extension` { add(extension: item, in: name, file) }
  }

  /// The values of an enum are siblings of the enum, as in C++.
  private mutating func add(_ item: GoogleProtobuf.EnumDescriptorProto, in scope: String, _ file: FileDescriptor) {
    declare(item.name, in: scope, file)
    for value in item.value { declare(value.name, in: scope, file) }
  }

  private mutating func add(extension field: GoogleProtobuf.FieldDescriptorProto, in scope: String, _ file: FileDescriptor) {
    declare(field.name, in: scope, file)
    // protoc writes type names in full, with a dot in front.
    let extendee = String((field.extendee ?? "").drop { $0 == "." })
    extensions[.init(extendee: extendee, number: field.number ?? 0)] = file
  }

  @discardableResult
  private mutating func declare(_ name: String?, in scope: String, _ file: FileDescriptor) -> String {
    let full = scope.isEmpty ? name ?? "" : "\(scope).\(name ?? "")"
    symbols[full] = file
    return full
  }
}
