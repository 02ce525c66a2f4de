import EventLoop
import Glibc
import Synchronization
import TestSupport

/// A plain HTTP/1.1 peer on a loop of its own, which answers as each test says.
// SAFETY: connections live on the stub's only loop; counters are atomic.
final class StubServer: @unchecked Sendable {
  /// What is done about one request.
  enum Answer: Sendable {
    case respond(Int, HTTPFields = [], [UInt8] = [])
    /// The bytes as they are; the connection stays open.
    case raw([UInt8])
    /// The bytes as they are, then the connection ends.
    case drop(after: [UInt8])
    /// Nothing, ever.
    case hang
    /// The same, later.
    indirect case delayed(Duration, Answer)
  }

  typealias HTTPFields = [(String, String)]

  struct Request: Sendable {
    let line: String
    let headers: [String: String]
    let body: [UInt8]
    /// Counts from 1 over all connections.
    let number: Int
  }

  let group: EventLoopGroup
  let received = Signal()
  let connectionEnded = Signal()
  private let requests = Atomic(0)
  private var listener: Listener?
  private let answer: @Sendable (Request) -> Answer
  private let seen = Mutex<[Request]>([])
  fileprivate var connections: [ObjectIdentifier: StubConnection] = [:]

  init(_ answer: @escaping @Sendable (Request) -> Answer) throws {
    self.answer = answer
    group = try EventLoopGroup(count: 1, name: "stub")
    listener = try Listener(on: SocketAddress("127.0.0.1:0"), group: group) { [unowned self] descriptor, _, loop in
      StubConnection(descriptor, loop, self).start()
    }
    listener?.start()
  }

  var port: UInt16 { listener?.address.port ?? 0 }
  var url: String { "http://127.0.0.1:\(port)" }
  var requestCount: Int { requests.load(ordering: .relaxed) }
  var log: [Request] { seen.withLock { $0 } }

  func stop() {
    listener?.close()
    group.loops[0].execute { [self] in for connection in connections.values { connection.end() } }
    group.shutDown()
  }

  fileprivate func handle(_ line: String, _ headers: [String: String], _ body: [UInt8]) -> Answer {
    let number = requests.wrappingAdd(1, ordering: .relaxed).newValue
    let request = Request(line: line, headers: headers, body: body, number: number)
    seen.withLock { $0.append(request) }
    received.fire()
    return answer(request)
  }
}

// SAFETY: it lives on its loop, which made it and calls its handler and its timers.
private final class StubConnection: DescriptorHandler, @unchecked Sendable {
  private let descriptor: Int32
  private let loop: EventLoop
  private let server: StubServer
  private var watch: DescriptorWatch?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var endsAfterOutput = false
  private var timers: [LoopTimer] = []

  init(_ descriptor: Int32, _ loop: EventLoop, _ server: StubServer) {
    self.descriptor = descriptor
    self.loop = loop
    self.server = server
  }

  func start() {
    watch = try? loop.watch(descriptor, for: .readable, self)
    server.connections[ObjectIdentifier(self)] = self
  }

  func descriptorIsReady(_ readiness: Readiness) {
    if readiness.contains(.writable) { flush() }
    guard watch != nil, readiness.contains(.readable) || readiness.contains(.failed) else { return }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 && errno == EAGAIN { return }
    guard count > 0 else { return end() }
    input.append(contentsOf: buffer[..<count])
    while watch != nil, takeRequest() {}
  }

  private func takeRequest() -> Bool {
    guard let headEnd = input.indices.first(where: { input[$0...].starts(with: Array("\r\n\r\n".utf8)) }) else { return false }
    let lines = String(decoding: input[..<headEnd], as: UTF8.self).split(separator: "\r\n").map(String.init)
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = String(line[line.index(after: colon)...].drop { $0 == " " })
    }
    let length = headers["content-length"].flatMap(Int.init) ?? 0
    guard input.count >= headEnd + 4 + length else { return false }
    let body = Array(input[(headEnd + 4)..<(headEnd + 4 + length)])
    input.removeFirst(headEnd + 4 + length)
    perform(server.handle(lines[0], headers, body))
    return true
  }

  private func perform(_ answer: StubServer.Answer) {
    switch answer {
    case .respond(let status, let fields, let body):
      var head = "HTTP/1.1 \(status) Stub\r\nContent-Length: \(body.count)\r\n"
      for (name, value) in fields { head += "\(name): \(value)\r\n" }
      send(Array((head + "\r\n").utf8) + body)
    case .raw(let bytes): send(bytes)
    case .drop(let bytes):
      endsAfterOutput = true
      send(bytes)
    case .hang: break
    case .delayed(let delay, let answer):
      let timer = LoopTimer { [unowned self] in perform(answer) }
      timers.append(timer)
      loop.arm(timer, after: delay)
    }
  }

  private func send(_ bytes: [UInt8]) {
    output.append(contentsOf: bytes)
    flush()
  }

  private func flush() {
    guard watch != nil else { return }
    while !output.isEmpty {
      let count = Glibc.send(descriptor, output, output.count, Int32(MSG_NOSIGNAL))
      if count < 0 {
        if errno == EAGAIN {
          watch?.setInterest([.readable, .writable])
          return
        }
        return end()
      }
      output.removeFirst(count)
    }
    watch?.setInterest(.readable)
    if endsAfterOutput { end() }
  }

  fileprivate func end() {
    guard server.connections.removeValue(forKey: ObjectIdentifier(self)) != nil else { return }
    for timer in timers { loop.disarm(timer) }
    watch?.cancel()
    watch = nil
    close(descriptor)
    loop.giveBackLoad()
    server.connectionEnded.fire()
  }
}
