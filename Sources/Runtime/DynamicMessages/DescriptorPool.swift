public import MessagesCore
internal import Synchronization
public import WellKnown

/// The files of a server that is known only at run time, and the messages that they declare, ready to be read and written.
///
/// Files may be added in any order, and again; imports need not be there, only the types that are used. Nothing that a file says
/// is trusted: what breaks the rules of the language is refused with an error that names it.
///
/// A descriptor that the pool has built is never freed, nor are the tables that the wire codec derives from it: descriptors refer
/// to each other in cycles and are reached without counting references. A process should hold few pools.
public final class DescriptorPool: Sendable {
  /// The most files that a pool takes.
  public static let maximumFiles = 10_000
  /// The most messages, enums and services that a pool takes.
  public static let maximumDeclarations = 200_000

  private struct State {
    var index = DeclarationIndex()
    var types = BuiltTypes()
  }

  private let state = Mutex(State())

  /// A pool that knows the well-known types of `google.protobuf` that have a JSON form of their own, and nothing else.
  public init() {}

  /// Adds files, all or none.
  ///
  /// - Throws: ``DescriptorError``. A file that is there already, unchanged, is passed over.
  public func add(_ files: [GoogleProtobuf.FileDescriptorProto]) throws(DescriptorError) {
    try state.withLock { (state) throws(DescriptorError) in
      var index = state.index
      for file in files { try index.add(file) }
      state.index = index
    }
  }

  /// Whether there is a file of this name.
  public func hasFile(_ name: String) -> Bool { state.withLock { $0.index.files[name] != nil } }

  /// The files, by name.
  public var files: [GoogleProtobuf.FileDescriptorProto] {
    state.withLock { $0.index.files.sorted { $0.key < $1.key }.map(\.value) }
  }

  /// What declares a full name: a message, an enum or a service; nil if no file does.
  public func declaration(of name: String) -> Declaration? { state.withLock { $0.index.declarations[name]?.declaration } }

  /// The message of this full name.
  ///
  /// - Throws: ``DescriptorError`` when it, or a type that it can contain, is missing or breaks the rules.
  public func message(_ name: String) throws(DescriptorError) -> MessageDescriptor {
    try state.withLock { (state) throws(DescriptorError) in
      var builder = MessageBuilder(index: state.index, types: state.types)
      let message = try builder.message(name)
      state.types = builder.types
      return message
    }
  }

  /// A message, an enum or a service as a file declares it.
  public enum Declaration: Sendable {
    /// A message.
    case message(GoogleProtobuf.DescriptorProto)
    /// An enum.
    case enumeration(GoogleProtobuf.EnumDescriptorProto)
    /// A service.
    case service(GoogleProtobuf.ServiceDescriptorProto)
  }
}
