import DynamicMessages
import MessagesCore
import MessagesWire
import ParleyAPI
import RPC
import WellKnown

/// The services whose API is compiled in: they can be called without asking the server what it serves.
enum KnownMethods {
  static let services: [ServiceDescriptor] = [
    TokenBrokerService.descriptor, BrokerAdminService.descriptor, AuthService.descriptor, AccountService.descriptor,
    UserAdminService.descriptor, JobAdminService.descriptor, EntitlementService.descriptor, OnboardingService.descriptor,
    IdentityService.descriptor, VoiceService.descriptor, OnboardingAdminService.descriptor, GRPCHealthV1.Health.descriptor,
  ]

  /// The full names of all methods.
  static let names: [String] = services.flatMap(\.methods).map { String($0.path.dropFirst()) }

  /// The method of this name, or nil.
  static func method(_ name: MethodName) -> MethodInfo? {
    services.first { $0.name == name.service }?.methods.first { $0.name == name.method }
  }

  /// Everything that the compiled files declare, and what errors carry: for the content of a `google.protobuf.Any`.
  static let types: DescriptorPool = {
    let pool = DescriptorPool()
    var open = services.compactMap(\.file) + [.googleRpcErrorDetails]
    while let file = open.popLast() {
      guard !pool.hasFile(file.name) else { continue }
      // Generated from what protoc wrote, so neither can fail.
      if let proto = try? GoogleProtobuf.FileDescriptorProto(protobuf: file.serialized) { try? pool.add([proto]) }
      open += file.dependencies
    }
    return pool
  }()
}
