internal import CShims
internal import Glibc

/// The kernel's readiness interface: epoll and the eventfd that wakes it.
///
/// Everything particular to Linux about waiting is in this file, so that kqueue can be added beside it.
struct Poller: ~Copyable {
  private let descriptor: Int32
  private let wakeDescriptor: Int32
  private let events: UnsafeMutablePointer<epoll_event>
  private static let batch: Int32 = 256

  init() throws(EventLoopError) {
    let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    let wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    self.descriptor = descriptor
    self.wakeDescriptor = wakeDescriptor
    events = .allocate(capacity: Int(Self.batch))
    guard descriptor >= 0, wakeDescriptor >= 0 else { throw .systemCall("creating an event loop") }
    var event = epoll_event(events: EPOLLIN.rawValue, data: .init(ptr: nil))
    epoll_ctl(descriptor, EPOLL_CTL_ADD, wakeDescriptor, &event)
  }

  deinit {
    events.deallocate()
    close(wakeDescriptor)
    close(descriptor)
  }

  func add(_ watch: DescriptorWatch) throws(EventLoopError) {
    guard control(EPOLL_CTL_ADD, watch) == 0 else { throw .systemCall("epoll_ctl") }
  }

  func modify(_ watch: DescriptorWatch) { _ = control(EPOLL_CTL_MOD, watch) }

  func remove(_ watch: DescriptorWatch) { epoll_ctl(descriptor, EPOLL_CTL_DEL, watch.descriptor, nil) }

  /// Ends the current or the next wait at once. The one call that any thread may make.
  func wake() {
    var one: UInt64 = 1
    _ = write(wakeDescriptor, &one, 8)
  }

  /// Waits until a descriptor is ready or `milliseconds` have passed (-1: for ever, 0: not at all).
  ///
  /// - Parameters:
  ///   - woken: Called once the wait is over, before anybody is told of anything.
  ///   - body: Called for each descriptor that is ready.
  /// - Returns: How many were ready.
  func wait(milliseconds: Int32, woken: () -> Void, _ body: (DescriptorWatch, Readiness) -> Void) -> Int {
    let count = epoll_wait(descriptor, events, Self.batch, milliseconds)
    woken()
    guard count > 0 else { return 0 }
    for index in 0..<Int(count) {
      let event = events[index]
      guard let pointer = event.data.ptr else {
        var value: UInt64 = 0
        _ = read(wakeDescriptor, &value, 8)
        continue
      }
      // SAFETY: a cancelled watch is kept alive until the end of the tick that could still hold its events.
      Unmanaged<DescriptorWatch>.fromOpaque(pointer)._withUnsafeGuaranteedRef { watch in
        body(watch, Self.readiness(event.events))
      }
    }
    return Int(count)
  }

  private func control(_ operation: Int32, _ watch: DescriptorWatch) -> Int32 {
    var mask: UInt32 = 0
    if watch.interest.contains(.readable) { mask |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if watch.interest.contains(.writable) { mask |= EPOLLOUT.rawValue }
    var event = epoll_event(events: mask, data: .init(ptr: Unmanaged.passUnretained(watch).toOpaque()))
    return epoll_ctl(descriptor, operation, watch.descriptor, &event)
  }

  private static func readiness(_ mask: UInt32) -> Readiness {
    var readiness: Readiness = []
    if mask & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { readiness.insert(.readable) }
    if mask & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
    if mask & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 { readiness.insert(.failed) }
    return readiness
  }
}
