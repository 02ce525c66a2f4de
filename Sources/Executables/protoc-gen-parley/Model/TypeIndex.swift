import WellKnown

/// Every message and enum that the files of a run declare or import, by full name.
struct TypeIndex {
  /// A message or enum and where its Swift type is.
  struct Entry {
    /// The name to write in any file: `GoogleProtobuf.Timestamp`, `Tree.Node`.
    let swiftName: String
    /// The module that declares it.
    let module: String
    /// The message, or nil for an enum.
    let message: GoogleProtobuf.DescriptorProto?
  }

  private(set) var entries: [String: Entry] = [:]
  private var owners: [String: String] = [:]
  private var modules: [String: String] = [:]

  /// Indexes the files.
  ///
  /// - Throws: ``GenerationError`` when two types of one module would get the same Swift name.
  init(_ files: [GoogleProtobuf.FileDescriptorProto], _ parameters: Parameters) throws(GenerationError) {
    for file in files {
      let package = file.package ?? ""
      let module = parameters.module(ofPackage: package)
      modules[file.name ?? ""] = module
      let scope = SwiftNames.namespace(ofPackage: package) ?? ""
      for message in file.messageType { try add(message, in: ".\(package)", scope, module, file) }
      for item in file.enumType { try add(item, in: ".\(package)", scope, module, file) }
      for service in file.service {
        let name = service.name ?? ""
        try claim(join(scope, SwiftNames.type(name, suffix: "Service")), module, "\(package).\(name)")
      }
    }
  }

  /// The module that a file's code is in.
  func module(ofFile path: String) -> String { modules[path] ?? "" }

  /// What a `type_name` refers to.
  func entry(_ fullName: String?) throws(GenerationError) -> Entry {
    guard let entry = entries[fullName ?? ""] else { throw GenerationError("type \(fullName ?? "?") is not in the request") }
    return entry
  }

  private mutating func add(
    _ message: GoogleProtobuf.DescriptorProto, in parent: String, _ scope: String, _ module: String,
    _ file: GoogleProtobuf.FileDescriptorProto
  ) throws(GenerationError) {
    let name = message.name ?? ""
    let fullName = join(parent, name)
    let swiftName = join(scope, Self.swiftName(message))
    try claim(swiftName, module, fullName)
    entries[fullName] = Entry(swiftName: swiftName, module: module, message: message)
    for nested in message.nestedType { try add(nested, in: fullName, swiftName, module, file) }
    for item in message.enumType { try add(item, in: fullName, swiftName, module, file) }
  }

  private mutating func add(
    _ item: GoogleProtobuf.EnumDescriptorProto, in parent: String, _ scope: String, _ module: String,
    _ file: GoogleProtobuf.FileDescriptorProto
  ) throws(GenerationError) {
    let fullName = join(parent, item.name ?? "")
    let isTopLevel = parent == ".\(file.package ?? "")"
    let swiftName = join(scope, Self.swiftName(item, package: isTopLevel ? file.package : nil))
    try claim(swiftName, module, fullName)
    entries[fullName] = Entry(swiftName: swiftName, module: module, message: nil)
  }

  private mutating func claim(_ swiftName: String, _ module: String, _ fullName: String) throws(GenerationError) {
    let key = "\(module).\(swiftName)"
    if let other = owners[key] { throw GenerationError("\(other) and \(fullName) would both be \(key) in Swift") }
    owners[key] = fullName
  }

  private func join(_ scope: String, _ name: String) -> String {
    scope.isEmpty ? name : scope == "." ? ".\(name)" : "\(scope).\(name)"
  }

  /// The last part of a message's Swift name.
  static func swiftName(_ message: GoogleProtobuf.DescriptorProto) -> String {
    SwiftNames.type(message.name ?? "", suffix: "Message")
  }

  /// The last part of an enum's Swift name.
  ///
  /// Every package of ours has an `ErrorReason`, and they share a module: that one carries its package's name.
  static func swiftName(_ item: GoogleProtobuf.EnumDescriptorProto, package: String?) -> String {
    let name = SwiftNames.type(item.name ?? "", suffix: "Enum")
    guard name == "ErrorReason", let package, package.hasPrefix("parley.") else { return name }
    let parts = package.split(separator: ".")
    return SwiftNames.type(String(parts[1]), suffix: "") + name
  }
}
