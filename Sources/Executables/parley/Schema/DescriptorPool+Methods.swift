import DynamicMessages
import RPC
import WellKnown

extension DescriptorPool {
  /// The methods of a service, or nil if no file declares it.
  func methods(of service: String) -> [GoogleProtobuf.MethodDescriptorProto]? {
    guard case .service(let proto) = declaration(of: service) else { return nil }
    return proto.method
  }

  /// A method that can be called, or nil if no file declares it.
  ///
  /// - Throws: ``DescriptorError`` when its messages cannot be used.
  func method(_ name: MethodName) throws(DescriptorError) -> MethodInfo? {
    guard let proto = methods(of: name.service)?.first(where: { $0.name == name.method }) else { return nil }
    let idempotency: MethodIdempotency =
      switch proto.options?.idempotencyLevel {
      case .noSideEffects: .noSideEffects
      case .idempotent: .idempotent
      default: .unknown
      }
    return MethodInfo(
      service: name.service, name: name.method, kind: proto.kind, access: .public, idempotency: idempotency,
      request: try message(Self.name(proto.inputType)), response: try message(Self.name(proto.outputType)))
  }

  /// A type's full name without the dot in front.
  static func name(_ typeName: String?) -> String { String((typeName ?? "").drop { $0 == "." }) }
}

extension GoogleProtobuf.MethodDescriptorProto {
  /// How many messages travel each way.
  var kind: MethodKind {
    switch (clientStreaming ?? false, serverStreaming ?? false) {
    case (false, false): .unary
    case (true, false): .clientStreaming
    case (false, true): .serverStreaming
    case (true, true): .bidirectional
    }
  }
}
