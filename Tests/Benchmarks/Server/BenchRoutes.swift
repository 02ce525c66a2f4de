import EventLoop
import MessagesCore
import PostgreSQL
import RPC
import TestAPI

/// What is measured: the echo service with methods that no test needs.
///
/// A streamed message has 64 bytes: a text of 56 letters and a sequence number, which counts from 2^28 so that it always takes
/// five bytes.
enum BenchRoutes {
  private static let service = "parley.testing.v1.EchoService"
  private static let letters = String(repeating: "x", count: 56)
  private static let first: Int64 = 1 << 28

  private static func method(_ name: String, _ kind: MethodKind) -> MethodDescriptor<EchoRequest, EchoResponse> {
    MethodDescriptor(service: service, name: name, kind: kind, access: .public)
  }

  /// The service and those of its methods that need nothing but the runtime.
  static func service(with others: [MethodRoute]) -> ServiceRoutes {
    let routes = [echo, upload, busy, flood, floodSuspending, drain, pingPong] + others
    return ServiceRoutes(ServiceDescriptor(name: service, methods: routes.map(\.method)), routes)
  }

  private static let echo = MethodRoute.unary(method("Echo", .unary)) { request, _ in
    EchoResponse(text: request.text, body: request.body, sequence: request.sequence)
  }

  /// Answers with the size of the body.
  private static let upload = MethodRoute.unary(method("Upload", .unary)) { request, _ in
    EchoResponse(sequence: Int64(request.body.count))
  }

  /// Works for as long as it takes to step a pseudo-random sequence so many times, so that the server and not its load is what
  /// limits.
  private static let busy = MethodRoute.unary(method("Busy", .unary)) { request, _ in
    var state: UInt64 = 88_172_645_463_325_252
    for _ in 0..<max(0, request.sequence) {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
    }
    return EchoResponse(text: request.text, sequence: Int64(truncatingIfNeeded: state & 1) + 1)
  }

  /// Sends as many numbered messages as it is told to, as fast as they are taken.
  private static let flood = MethodRoute.serverStreaming(method("Flood", .serverStreaming)) { request, responses, _ in
    for number in 0..<request.sequence { try await responses.write(EchoResponse(text: letters, sequence: first + number)) }
  }

  /// The same, suspended after each: others have their turn, and what was written leaves.
  private static let floodSuspending = MethodRoute.serverStreaming(method("FloodSuspending", .serverStreaming)) {
    request, responses, _ in
    for number in 0..<request.sequence {
      try await responses.write(EchoResponse(text: letters, sequence: first + number))
      await EventLoop.yield()
    }
  }

  /// Takes numbered messages; answers how many there were and the sum of their numbers.
  private static let drain = MethodRoute.clientStreaming(method("Drain", .clientStreaming)) { requests, _ in
    var requests = requests
    var count = 0
    var sum: Int64 = 0
    while let request = try await requests.next() {
      guard request.text.utf8.count == letters.utf8.count else { throw RPCError(.invalidArgument, "the text is not as sent") }
      count += 1
      sum &+= request.sequence
    }
    return EchoResponse(text: String(count), sequence: sum)
  }

  /// Sends every message back as it comes.
  private static let pingPong = MethodRoute.bidirectional(method("PingPong", .bidirectional)) { requests, responses, _ in
    var requests = requests
    while let request = try await requests.next() {
      try await responses.write(EchoResponse(text: request.text, body: request.body, sequence: request.sequence))
    }
  }

  /// One read by primary key in each call.
  static func read(_ database: Database) -> MethodRoute {
    .unary(method("Read", .unary)) { request, _ in
      guard let id = Int64(request.text) else { throw RPCError(.invalidArgument, "the text is no number") }
      let text: String? = try await database.reads.value("select text from item where id = \(id)")
      guard let text else { throw RPCError(.notFound, "no item \(id)") }
      return EchoResponse(text: text)
    }
  }
}
