/// What a descriptor is watched for, or what has become possible on it.
public struct Readiness: OptionSet, Sendable, Hashable {
  /// One bit for each kind.
  public let rawValue: UInt32

  /// A set of the kinds whose bits are set.
  @inlinable
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// A read would not block.
  public static let readable = Readiness(rawValue: 1)
  /// A write would not block.
  public static let writable = Readiness(rawValue: 2)
  /// The peer is gone or the descriptor is broken; reported whether asked for or not.
  public static let failed = Readiness(rawValue: 4)
}

/// Whoever owns a descriptor that an ``EventLoop`` watches.
public protocol DescriptorHandler: AnyObject {
  /// Called on the loop when the watched descriptor became ready.
  ///
  /// Readiness is level-triggered: what is not handled is reported again at the next tick.
  func descriptorIsReady(_ readiness: Readiness)
}

/// One descriptor under watch on one loop. The descriptor itself stays the owner's to close, after ``cancel()``.
///
/// Confined to its loop.
public final class DescriptorWatch {
  let descriptor: Int32
  let loop: EventLoop
  var handler: (any DescriptorHandler)?
  /// The data of its events; see ``Poller``.
  var registration: UInt64 = 0
  /// What is being waited for.
  public private(set) var interest: Readiness

  init(_ descriptor: Int32, _ interest: Readiness, _ handler: any DescriptorHandler, on loop: EventLoop) {
    self.descriptor = descriptor
    self.interest = interest
    self.handler = handler
    self.loop = loop
  }

  /// Changes what is waited for; an empty set keeps the watch but reports only failure.
  public func setInterest(_ interest: Readiness) {
    loop.assertInLoop()
    guard handler != nil, interest != self.interest else { return }
    self.interest = interest
    loop.poller.modify(self)
  }

  /// Ends the watch. No event reaches the handler afterwards, not even one of the current tick.
  public func cancel() {
    loop.assertInLoop()
    guard handler != nil else { return }
    handler = nil
    loop.poller.remove(self)
  }
}
