import ArgumentParser
import DynamicMessages
import MessagesCore
import MessagesWire
import RPC
import Synchronization

/// What a command knows of the services that it talks to: the API that is compiled in, and what the server tells.
final class Schema: Sendable {
  private let reflected = DescriptorPool()
  private let reflection: ReflectionClient

  init(_ reflection: ReflectionClient) { self.reflection = reflection }

  /// A method by its name.
  ///
  /// - Parameter asksServer: Whether the server is asked even for what is compiled in.
  func method(_ name: MethodName, asksServer: Bool) async throws -> MethodInfo {
    if !asksServer, let known = KnownMethods.method(name) { return known }
    let isKnown: Bool
    do { isKnown = try await reflection.load(name.service, into: reflected) } catch is ReflectionClient.Unavailable {
      throw ValidationError(
        "No method '\(name)' is compiled in, and the server does not tell what it serves (it has no reflection). Compiled in are:\n"
          + KnownMethods.names.map { "  " + $0 }.joined(separator: "\n"))
    }
    guard isKnown, let method = try reflected.method(name) else {
      throw ValidationError("The server has no method '\(name)'. 'parley list' shows what it has.")
    }
    return method
  }

  /// The files that declare a symbol, or that of a service's method, in a pool; nil if the server does not know it.
  func declarations(of symbol: String) async throws -> DescriptorPool? {
    try await reflection.load(symbol, into: reflected) ? reflected : nil
  }

  /// A registry for the content of `google.protobuf.Any`; `missed` is told what it does not know.
  func registry(missed: @escaping @Sendable (String) -> Void = { _ in }) -> MessageRegistry {
    MessageRegistry(wire: WireFormat()) { [reflected] name in
      if let message = (try? reflected.message(name)) ?? (try? KnownMethods.types.message(name)) { return message }
      missed(name)
      return nil
    }
  }

  /// Asks the server for a message that came in an `Any`.
  ///
  /// - Returns: Whether it is known now.
  func learn(_ message: String) async -> Bool {
    guard (try? await reflection.load(message, into: reflected)) == true else { return false }
    return (try? reflected.message(message)) != nil
  }
}
