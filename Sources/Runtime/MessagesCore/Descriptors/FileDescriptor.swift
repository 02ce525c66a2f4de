/// A `.proto` file as the compiler understood it, for server reflection.
public final class FileDescriptor: Sendable {
  /// The path as `import` statements write it.
  public let name: String
  /// The files that it imports.
  public let dependencies: [FileDescriptor]
  /// The serialised `google.protobuf.FileDescriptorProto` in base64, without comments.
  private let base64: String

  /// Describes a file.
  public init(_ name: String, dependencies: [FileDescriptor] = [], base64: String) {
    self.name = name
    self.dependencies = dependencies
    self.base64 = base64
  }

  /// The serialised `google.protobuf.FileDescriptorProto`.
  public var serialized: Bytes {
    Bytes(Base64.decode(base64.utf8) ?? [])
  }
}
