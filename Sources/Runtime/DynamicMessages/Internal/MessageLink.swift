import MessagesCore
import Synchronization

/// The type of a field that may not be built yet: messages refer to each other in any order, and to themselves.
///
/// Bound once every message that a root can reach is built, and only then handed out with the root.
final class MessageLink: Sendable {
  private let target = Mutex<MessageDescriptor?>(nil)

  var descriptor: MessageDescriptor {
    guard let descriptor = target.withLock({ $0 }) else { preconditionFailure("a descriptor is used before it is built") }
    return descriptor
  }

  func bind(_ descriptor: MessageDescriptor) { target.withLock { $0 = descriptor } }
}

/// The messages and enums that a pool has built so far.
struct BuiltTypes {
  var messages: [String: MessageDescriptor] = [:]
  var enums: [String: EnumDescriptor] = [:]
}
