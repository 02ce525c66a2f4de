internal import CShims
internal import Glibc

/// The kernel's readiness interface: epoll and the eventfd that wakes it.
///
/// Everything particular to Linux about waiting is in this file, so that kqueue can be added beside it.
///
/// What it registers is a number, never an address. The kernel drops a registration when the last copy of a descriptor is closed, and a
/// child process holds copies of all of them between its start and its `exec`: a library that closes its socket before the watch is
/// cancelled, as libpq does when a server hangs up, leaves a registration that nobody can remove any more. Its events belong to nobody.
struct Poller: ~Copyable {
  private let descriptor: Int32
  private let wakeDescriptor: Int32
  private let events: UnsafeMutablePointer<epoll_event>
  private let watches = Watches()
  private static let batch: Int32 = 256
  /// The data of the wake descriptor's events: no watch has it.
  private static let wakeEvent = UInt64.max

  init() throws(EventLoopError) {
    let descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    let wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    self.descriptor = descriptor
    self.wakeDescriptor = wakeDescriptor
    events = .allocate(capacity: Int(Self.batch))
    guard descriptor >= 0, wakeDescriptor >= 0 else { throw .systemCall("creating an event loop") }
    var event = epoll_event(events: EPOLLIN.rawValue, data: .init(u64: Self.wakeEvent))
    epoll_ctl(descriptor, EPOLL_CTL_ADD, wakeDescriptor, &event)
  }

  deinit {
    events.deallocate()
    close(wakeDescriptor)
    close(descriptor)
  }

  /// Keeps the watch until it is removed.
  func add(_ watch: DescriptorWatch) throws(EventLoopError) {
    watch.registration = watches.nextRegistration(of: watch.descriptor)
    guard control(EPOLL_CTL_ADD, watch) == 0 else { throw .systemCall("epoll_ctl") }
    watches.insert(watch)
  }

  func modify(_ watch: DescriptorWatch) {
    // The number may stand for another descriptor by now.
    guard watches.contains(watch) else { return }
    _ = control(EPOLL_CTL_MOD, watch)
  }

  func remove(_ watch: DescriptorWatch) {
    guard watches.contains(watch) else { return }
    epoll_ctl(descriptor, EPOLL_CTL_DEL, watch.descriptor, nil)
    watches.remove(watch)
  }

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
      guard event.data.u64 != Self.wakeEvent else {
        var value: UInt64 = 0
        _ = read(wakeDescriptor, &value, 8)
        continue
      }
      // A watch that was cancelled in this tick is not there either.
      guard let watch = watches[event.data.u64] else { continue }
      body(watch, Self.readiness(event.events))
    }
    return Int(count)
  }

  private func control(_ operation: Int32, _ watch: DescriptorWatch) -> Int32 {
    var mask: UInt32 = 0
    if watch.interest.contains(.readable) { mask |= EPOLLIN.rawValue | EPOLLRDHUP.rawValue }
    if watch.interest.contains(.writable) { mask |= EPOLLOUT.rawValue }
    var event = epoll_event(events: mask, data: .init(u64: watch.registration))
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

/// The watches of one loop by their descriptors. A class, since handlers add and remove watches while events are handed out.
private final class Watches {
  private var byDescriptor: ContiguousArray<DescriptorWatch?> = []
  private var registrations: UInt32 = 0

  /// The descriptor and a number that no earlier registration has: two registrations of one descriptor are told apart.
  func nextRegistration(of descriptor: Int32) -> UInt64 {
    registrations &+= 1
    return UInt64(registrations) << 32 | UInt64(UInt32(bitPattern: descriptor))
  }

  /// The watch whose registration this is; nil where it has been removed.
  subscript(registration: UInt64) -> DescriptorWatch? {
    let index = Int(UInt32(truncatingIfNeeded: registration))
    guard index < byDescriptor.count, let watch = byDescriptor[index], watch.registration == registration else { return nil }
    return watch
  }

  func contains(_ watch: DescriptorWatch) -> Bool { self[watch.registration] === watch }

  /// Takes the place of a watch whose descriptor was closed before it was cancelled.
  func insert(_ watch: DescriptorWatch) {
    let index = Int(watch.descriptor)
    while byDescriptor.count <= index { byDescriptor.append(nil) }
    byDescriptor[index] = watch
  }

  func remove(_ watch: DescriptorWatch) { byDescriptor[Int(watch.descriptor)] = nil }
}
