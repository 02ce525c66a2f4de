import EventLoop
import Logging
import Outbound
import Synchronization
import Testing

extension OutboundTests {
  @Suite("Observing attempts")
  struct Observing {
    /// Keeps what it is told, and sends the attempt's number along.
    private final class Notes: OutboundObserver {
      let begun = Mutex<[OutboundAttempt]>([])
      let ended = Mutex<[String]>([])

      private struct Observation: OutboundObservation {
        let notes: Notes

        func attemptEnds(_ outcome: Result<HTTPResponse, OutboundError>) {
          let text =
            switch outcome {
            case .success(let response): "\(response.status)"
            case .failure(let error): "\(error.code)"
            }
          notes.ended.withLock { $0.append(text) }
        }
      }

      func attemptBegins(_ attempt: OutboundAttempt, headers: inout HTTPHeaders) -> (any OutboundObservation)? {
        begun.withLock { $0.append(attempt) }
        headers["X-Attempt"] = "\(attempt.number)"
        return Observation(notes: self)
      }
    }

    @Test("Every attempt is told, without the query, and takes along what is added for it alone")
    func attempts() async throws {
      let notes = Notes()
      let stub = try StubServer { request in
        request.number < 3 ? .respond(503) : .respond(200)
      }
      defer { stub.stop() }
      var configuration = HTTPClientConfiguration()
      configuration.retry = RetryPolicy(attempts: 3)
      configuration.circuit = nil
      let group = try EventLoopGroup(count: 1, name: "client")
      defer { group.shutDown() }
      let client = try HTTPClient(
        loops: group.loops, configuration: configuration, clock: ManualClock().clock,
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, observer: notes)
      let response = await response(to: .init(.get, "\(stub.url)?token=secret"), from: client)
      await client.shutDown()
      #expect(response?.status == 200 && stub.log.map { $0.headers["x-attempt"] } == ["1", "2", "3"])
      let begun = notes.begun.withLock { $0 }
      #expect(begun.map(\.number) == [1, 2, 3] && begun.allSatisfy { $0.method == .get && !$0.url.contains("secret") })
      #expect(
        begun.allSatisfy { $0.origin.hasPrefix("http://127.0.0.1:") } && notes.ended.withLock { $0 } == ["503", "503", "200"])
    }

    @Test("An attempt that gets no response ends with its error")
    func failed() async throws {
      let notes = Notes()
      let group = try EventLoopGroup(count: 1, name: "client")
      defer { group.shutDown() }
      let client = try HTTPClient(loops: group.loops, observer: notes)
      let stub = try StubServer { _ in .respond(200) }
      let url = stub.url
      stub.stop()
      _ = await failure(of: .init(.post, url, body: []), with: client)
      await client.shutDown()
      #expect(notes.ended.withLock { $0.count } == 1 && notes.ended.withLock { $0.first } != "200")
    }
  }
}
