import EventLoop
import HTTP2
import TestSupport
import Testing

/// Names that the server knows are not stored with each request; nobody must notice.
@Suite("Names of header fields")
struct HeaderNameTests {
  @Test(
    "A field reaches the handler as metadata under its own name, known or not",
    arguments: [
      "x-request-id", "traceparent", "origin", "authorization", "user-agent", "x-forwarded-for", "x-other", "tracestate",
      "x-request-ix", "traceparenu",
    ])
  func metadata(_ name: String) async throws {
    try await EchoServer.run { server, clients in
      let peer = try await HTTP2Peer.open(to: server.address, on: clients.loops[0])
      peer.call(1, "Metadata", headers: [("x-first", "before"), (name, "the value"), ("x-last", "after")])
      let response = try await peer.response(1)
      #expect(response.status == 0)
      let body = String(decoding: response.body, as: UTF8.self)
      for text in [name, "the value", "x-first", "before", "x-last", "after"] { #expect(body.contains(text), "\(text)") }
      peer.close()
    }
  }
}
