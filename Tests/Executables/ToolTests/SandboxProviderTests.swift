import EventLoop
import JSON
import Outbound
import TestSupport
import Testing

@testable import parley_sandbox

@Suite("Sandbox: OpenAI, ElevenLabs and what they were paid for") struct SandboxProviderTests {
  private static func transcription(
    _ fields: [(String, String)] = [("model", "whisper-1")], file: [UInt8]? = [1, 2, 3], name: String = "a.m4a"
  ) -> HTTPRequest {
    var body: [UInt8] = []
    for (field, value) in fields {
      body += Array("--B\r\nContent-Disposition: form-data; name=\"\(field)\"\r\n\r\n\(value)\r\n".utf8)
    }
    if let file {
      let head = "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\(name)\"\r\nContent-Type: audio/mp4\r\n\r\n"
      body += Array(head.utf8) + file + Array("\r\n".utf8)
    }
    return HTTPRequest(
      .post, "/openai/v1/audio/transcriptions",
      headers: ["Authorization": "Bearer sk-sandbox", "Content-Type": "multipart/form-data; boundary=B"],
      body: body + Array("--B--\r\n".utf8))
  }

  private static func send(_ request: HTTPRequest, to running: RunningSandbox, id: String? = nil) async throws -> HTTPResponse {
    var request = request
    request.url = running.url + request.url
    request.headers["X-Client-Request-Id"] = id
    return try await running.send(request)
  }

  @Test(
    "A form that OpenAI would not take is refused, with its kind of error, and costs nothing",
    arguments: [
      (transcription([]), 400), (transcription([("model", "no-model")]), 404), (transcription(file: nil), 400),
      (transcription(file: []), 400), (transcription(name: "a.txt"), 400), (transcription(name: "a"), 400),
      (transcription([("model", "whisper-1"), ("model", "whisper-1")]), 400),
      (transcription([("model", "whisper-1"), ("x", "y")]), 400),
      (transcription([("model", "gpt-4o-transcribe"), ("response_format", "verbose_json")]), 400),
      (transcription([("model", "whisper-1"), ("response_format", "xml")]), 400),
      (transcription([("model", "whisper-1"), ("language", "english")]), 400),
      (transcription([("model", "whisper-1"), ("temperature", "2")]), 400),
    ] as [(HTTPRequest, Int)])
  func refusals(request: HTTPRequest, status: Int) async throws {
    try await RunningSandbox.run { running in
      let response = try await Self.send(request, to: running)
      #expect(response.status == status)
      #expect(try parsed(response.body)["error"]?["type"] == "invalid_request_error")
      #expect(running.sandbox.effects[.transcriptions].paid == 0)
    }
  }

  @Test("The work is counted by content and by request, and what was done twice for one content is told")
  func effects() async throws {
    try await RunningSandbox.run { running in
      for (file, id) in [([1], "a"), ([1], "a"), ([2], "b")] as [([UInt8], String)] {
        #expect(try await Self.send(Self.transcription(file: file), to: running, id: id).status == 200)
      }
      let shown = try parsed(try await running.get("/sandbox/effects").body)["transcriptions"]
      #expect(shown?["paid"] == 3 && shown?["paidTwice"] == 1 && shown?["byRequestId"] == ["a": 2, "b": 1])
      #expect(shown?["byContent"]?.object?.count == 2)
      let reset = try parsed(try await running.delete("/sandbox/effects").body)
      #expect(reset["transcriptions"]?["paid"] == 0 && reset["voices"]?["existing"] == 0)
    }
  }

  @Test("A fault before the work costs nothing, a fault after it costs as much as an answer, and both use the provider's words")
  func faults() async throws {
    try await RunningSandbox.run { running in
      for (fault, paid) in [(["after": false], 0), (["after": true], 1)] as [(JSONObject, Int)] {
        var fault = fault
        for (name, value) in [
          ("path", "/openai/v1/audio/transcriptions"), ("status", 429), ("code", "insufficient_quota"), ("retryAfter", "7"),
          ("count", 1),
        ] as [(String, JSONValue)] { fault[name] = value }
        #expect(try await running.post("/sandbox/faults", fault).status == 200)
        let response = try await Self.send(Self.transcription(), to: running)
        #expect(response.status == 429 && response.headers["retry-after"] == "7")
        #expect(try parsed(response.body)["error"]?["code"] == "insufficient_quota")
        #expect(running.sandbox.effects[.transcriptions].paid == paid)
      }
      let voice: JSONObject = ["path": "/elevenlabs/v1/voices", "status": 401, "code": "quota_exceeded", "count": 1]
      _ = try await running.post("/sandbox/faults", voice)
      let response = try await running.get("/elevenlabs/v1/voices", headers: ["xi-api-key": "xi-sandbox"])
      #expect(response.status == 401)
      #expect(try parsed(response.body)["detail"]?["status"] == "quota_exceeded")
    }
  }

  /// Waits until so many requests wait.
  private static func waiting(_ count: Int, _ running: RunningSandbox) async throws {
    let end = MonotonicInstant.now().advanced(by: Duration.seconds(30).withPatience)
    // Asked over the connection: libcurl tells of a cancelled request when it next has something to send there.
    while try parsed(try await running.get("/sandbox/hold").body)["waiting"]?.array?.count != count {
      guard MonotonicInstant.now() < end else { throw ToolFailure(description: "not \(count) requests wait") }
      try await Task.sleep(for: .milliseconds(5))  // between two looks
    }
  }

  @Test("A request that is held before the work, and whose caller goes away, was never made")
  func heldBefore() async throws {
    try await RunningSandbox.run { running in
      let path: JSONValue = "/openai/v1/audio/transcriptions"
      #expect(try await running.post("/sandbox/hold", ["path": path, "before": true, "count": 1]).status == 200)
      var request = Self.transcription()
      request.url = running.url + request.url
      let asking = Task { [http = running.http, request] in try await http.send(request) }
      try await Self.waiting(1, running)
      asking.cancel()
      let error = await #expect(throws: OutboundError.self) { try await asking.value }
      #expect(error?.code == .cancelled)
      try await Self.waiting(0, running)
      let shown = try parsed(try await running.delete("/sandbox/hold").body)
      #expect(shown["holds"] == [])
      #expect(running.sandbox.effects[.transcriptions].paid == 0)
      #expect(try await Self.send(Self.transcription(), to: running).status == 200)
      #expect(running.sandbox.effects[.transcriptions].paid == 1)
    }
  }

  @Test("Keys are asked for, and each path answers its own methods")
  func keys() async throws {
    try await RunningSandbox.run { running in
      #expect(try await running.get("/elevenlabs/v1/voices").status == 401)
      #expect(try await running.get("/v1/voices", headers: ["xi-api-key": "xi-sandbox"]).status == 200)
      #expect(try await running.get("/elevenlabs/v2/voices").status == 401)
      for (query, status) in [
        ("", 200), ("?page_size=100&search=a", 200), ("?page_size=0", 422), ("?page_size=101", 422), ("?page_size=x", 422),
        ("?sort=name", 422), ("?search=a&search=b", 422), ("?next_page_token=none", 400),
      ] {
        let page = try await running.get("/v2/voices" + query, headers: ["xi-api-key": "xi-sandbox"])
        #expect(page.status == status, "\(query)")
      }
      #expect(try await running.delete("/elevenlabs/v1/voices").status == 405)
      #expect(try await running.get("/openai/v1/chat/completions").status == 405)
      let chat = try await running.post("/openai/v1/chat/completions", [:], bearer: "sk-wrong")
      #expect(chat.status == 401)
      #expect(try parsed(chat.body)["error"]?["code"] == "invalid_api_key")
      let none = try await running.get("/elevenlabs/v1/voices/none", headers: ["xi-api-key": "xi-sandbox"])
      #expect(none.status == 400)
      #expect(try parsed(none.body)["detail"]?["status"] == "voice_not_found")
    }
  }

  @Test(
    "A wish that is not understood is refused",
    arguments: [
      ("openai/transcripts", [:]), ("openai/transcripts", ["sha256": "ab", "text": "x"]),
      ("openai/transcripts", ["sha256": .string(String(repeating: "a", count: 64))]),
      ("openai/transcripts", ["sha256": .string(String(repeating: "a", count: 64)), "text": "x", "silent": true]),
      ("openai/chat", [:]), ("openai/chat", ["refusal": "x", "truncated": true]), ("openai/chat", ["document": "x"]),
      ("openai/chat", ["invalid": true, "count": 0]), ("hold", [:]), ("hold", ["path": "/nowhere"]),
      ("elevenlabs/settings", ["voiceLimit": -1]), ("elevenlabs/settings", ["limit": 1]),
    ] as [(String, JSONObject)])
  func refusedWishes(path: String, wish: JSONObject) async throws {
    try await RunningSandbox.run { running in
      let response = try await running.post("/sandbox/\(path)", wish)
      #expect(response.status == 400)
    }
  }
}
