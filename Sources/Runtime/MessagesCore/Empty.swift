/// Stands until the slice that brings messages.
public protocol Message: Sendable { static var descriptor: MessageDescriptor { get } }
/// Stands until the slice that brings messages.
public final class MessageDescriptor: Sendable {}
