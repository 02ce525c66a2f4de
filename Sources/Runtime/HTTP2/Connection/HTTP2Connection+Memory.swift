internal import Buffers
internal import EventLoop

/// What one connection holds in memory for its streams, and who waits for room.
struct HeldBytes {
  /// A stream that waits, as long as it is the same one.
  struct Waiter {
    let stream: HTTP2Stream
    let id: Int32
    let since: MonotonicInstant
    var isOpen: Bool { stream.id == id && !stream.isClosed }
  }

  /// What waits in streams until it is sent.
  var outbound = 0
  /// What waits in streams until it is taken.
  var inbound = 0
  /// What a server's loop counts of both, and of what waits for the socket.
  var reportedOutbound = 0
  var reportedInbound = 0
  /// What large messages may take that are on their way.
  var admitted = 0
  /// Streams that wait until they may write.
  var writers: [Waiter] = []
  /// Streams with a large message that is not let in yet, and its size.
  var arrivals: [(waiter: Waiter, total: Int)] = []
  var hasWaiters = false
}

extension HTTP2Connection {
  /// Below this a connection is left alone, however much the others take.
  private static let smallBytes = 64 << 10

  // MARK: Counting

  /// Tells the loop what this connection holds, at the end of each tick. A connection whose responses have all left and whose
  /// requests are all done holds nothing, as before: there is nothing to tell.
  @inline(__always)
  func settle() {
    let responses = held.outbound + (backlog?.count ?? 0)
    let isSame = responses == held.reportedOutbound && held.inbound == held.reportedInbound
    if !isSame || held.hasWaiters { settle(responses) }
  }

  private func settle(_ responses: Int) {
    resources.responses.change(by: responses - held.reportedOutbound)
    held.reportedOutbound = responses
    if responses > 0 { watchStalls() }
    let isWithin = resources.requests.change(by: held.inbound - held.reportedInbound)
    held.reportedInbound = held.inbound
    boundRequests(isWithin)
    serveWaiters()
  }

  @inline(__always)
  func countOutbound(_ change: Int) {
    held.outbound += change
    // Much at once is told at once: what other connections write in this tick must fit beside it.
    if held.outbound > held.reportedOutbound + Self.smallBytes && role == .server { reportOutbound() }
  }

  private func reportOutbound() {
    resources.responses.change(by: held.outbound - held.reportedOutbound)
    held.reportedOutbound = held.outbound
    watchStalls()
  }

  @inline(__always)
  func countInbound(_ stream: HTTP2Stream) {
    let count = stream.inbound.count
    held.inbound += count - stream.countedInbound
    if count > stream.countedInbound { stream.reading.bytes += count - stream.countedInbound }
    stream.client?.inbound += count - stream.countedInbound
    stream.countedInbound = count
  }

  /// A stream is over.
  @inline(__always)
  func release(_ stream: HTTP2Stream) {
    stream.unopenedBytes = 0
    held.outbound -= stream.countedOutbound
    held.inbound -= stream.countedInbound
    if let client = stream.client {
      client.outbound -= stream.countedOutbound
      client.inbound -= stream.countedInbound
    }
    stream.countedOutbound = 0
    stream.countedInbound = 0
    if stream.admitted > 0 { releaseAdmission(stream) }
  }

  /// The connection is over.
  func releaseAll() {
    guard role == .server else { return }
    resources.responses.change(by: -held.reportedOutbound)
    resources.requests.change(by: -held.reportedInbound)
    held = HeldBytes()
  }

  // MARK: Responses

  /// What of the responses counts where a stream wants to add to them: all that waits here, or what waits for its client.
  @inline(__always)
  private func waitingResponses(beside stream: HTTP2Stream) -> Int {
    stream.client.map { $0.outbound } ?? held.outbound + (backlog?.count ?? 0)
  }

  @inline(__always)
  func hasRoom(for stream: HTTP2Stream) -> Bool {
    let waiting = waitingResponses(beside: stream)
    guard waiting < resources.limits.responseBytes else { return false }
    // Who reads what is sent needs little, and must not suffer for those who do not.
    return waiting < Self.smallBytes || resources.responses.hasRoom
  }

  func awaitRoom(_ stream: HTTP2Stream) {
    held.writers.append(.init(stream: stream, id: stream.id, since: loop.now))
    awaitRoom()
  }

  private func awaitRoom() {
    held.hasWaiters = true
    // Room that other connections make is told by nobody.
    look(at: loop.now.advanced(by: .seconds(1)))
    scheduleFlush()
  }

  /// Wakes the writers that wait once a quarter is free, so that not each frame that leaves wakes all of them.
  private func wakeWriters() {
    guard !held.writers.isEmpty else { return }
    let writers = held.writers
    held.writers = []
    let enough = resources.limits.responseBytes / 4 * 3
    for writer in writers where writer.isOpen {
      // On a proxy's connection one client may have room while another has none.
      if hasRoom(for: writer.stream) && waitingResponses(beside: writer.stream) <= enough {
        writer.stream.handler?.streamDrained(writer.stream)
      } else {
        held.writers.append(writer)
      }
    }
  }

  // MARK: Requests

  /// Whether the peer's window for the whole connection may be opened as far as it goes.
  @inline(__always)
  var mayOpenWindow: Bool {
    let limit = resources.limits.requestBytes
    // Half of a limit that is smaller than two windows: what the window lets in then is refused, and nobody waits for ever.
    return held.inbound <= max(limit - resources.limits.connectionWindowBytes, limit / 2)
  }

  /// See ``HTTP2Stream/windowStep``.
  var windowStep: Int { min(64 << 10, resources.limits.streamWindowBytes / 2) }

  func openWindow(_ stream: HTTP2Stream, toHold total: Int) -> Bool {
    let window = resources.limits.streamWindowBytes
    // What fits into half of the window comes without further ado: the other half may have been used up by what came before, since the
    // peer is told of what was taken only once it is a half.
    guard total > window / 2 else { return true }
    guard total > window else {
      stream.openWindow(stream.unopenedBytes)
      return true
    }
    guard total <= stream.admitted || admit(stream, total) else {
      guard !stream.awaitsAdmission else { return false }
      stream.awaitsAdmission = true
      held.arrivals.append((.init(stream: stream, id: stream.id, since: loop.now), total))
      awaitRoom()
      return false
    }
    stream.openWindow(stream.unopenedBytes)
    return true
  }

  /// Lets a large message in if there is room for all of it: so many can always be completed.
  private func admit(_ stream: HTTP2Stream, _ total: Int) -> Bool {
    let sum = held.admitted - stream.admitted + total
    guard mayHold(total, for: stream) else { return false }
    guard held.admitted == 0 || sum <= resources.limits.requestBytes / 2, resources.requests.hasRoom else { return false }
    held.admitted = sum
    stream.client?.admitted += total - stream.admitted
    stream.admitted = total
    watchStalls()
    return true
  }

  /// Whether a client behind a proxy leaves the others room: one that is slow must not have all of it.
  private func mayHold(_ total: Int, for stream: HTTP2Stream) -> Bool {
    guard let client = stream.client else { return true }
    let others = client.admitted - stream.admitted
    return others == 0 || others + total <= resources.limits.requestBytes / 8
  }

  func releaseAdmission(_ stream: HTTP2Stream) {
    held.admitted -= stream.admitted
    stream.client?.admitted -= stream.admitted
    stream.admitted = 0
    if held.hasWaiters { scheduleFlush() }
  }

  private func admitArrivals() {
    let arrivals = held.arrivals
    held.arrivals = []
    var isFull = false
    for (waiter, total) in arrivals where waiter.isOpen {
      // Nobody overtakes who waits for the room that all share; who waits for what it has itself keeps nobody.
      let waits = isFull || !mayHold(total, for: waiter.stream)
      if !waits && admit(waiter.stream, total) {
        waiter.stream.awaitsAdmission = false
        waiter.stream.openWindow(waiter.stream.unopenedBytes)
      } else {
        isFull = isFull || !waits
        held.arrivals.append((waiter, total))
      }
    }
  }

  private func boundRequests(_ isWithinProcess: Bool) {
    let limit = resources.limits.requestBytes
    if held.inbound > limit / 8 * 7 {
      refuseRequests(downTo: limit / 4 * 3)
    } else if !isWithinProcess && held.inbound > Self.smallBytes {
      refuseRequests(downTo: Self.smallBytes)
    }
  }

  /// Refuses requests that are not whole, the newest first: the older ones can then be completed. On a proxy's connection the
  /// clients who have most here come first, and where the process is to be relieved, those who have little are left alone.
  private func refuseRequests(downTo target: Int) {
    var left = held.inbound
    let unfinished = streams.filter { !$0.isRemoteClosed && $0.countedInbound > 0 }
    for stream in unfinished.sorted(by: { ($0.client?.inbound ?? 0, $0.id) > ($1.client?.inbound ?? 0, $1.id) })
    where left > target {
      if let client = stream.client, target <= Self.smallBytes, client.inbound <= Self.smallBytes { continue }
      left -= stream.countedInbound
      stream.handler?.streamOverBudget(stream)
    }
  }

  // MARK: Waiting

  private func serveWaiters() {
    guard held.hasWaiters else { return }
    wakeWriters()
    admitArrivals()
    held.hasWaiters = !held.writers.isEmpty || !held.arrivals.isEmpty
  }

  func lookAtWaiters(_ now: MonotonicInstant) -> MonotonicInstant? {
    guard held.hasWaiters else { return nil }
    let limit = resources.limits.writeStallTimeout
    let late = held.arrivals.filter { now.duration(since: $0.waiter.since) >= limit }
    held.arrivals.removeAll { now.duration(since: $0.waiter.since) >= limit }
    for (waiter, _) in late where waiter.isOpen { waiter.stream.handler?.streamOverBudget(waiter.stream) }
    serveWaiters()
    return held.hasWaiters ? now.advanced(by: .seconds(1)) : nil
  }
}
