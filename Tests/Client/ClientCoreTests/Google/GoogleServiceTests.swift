import Foundation
import JSON
import RPC
import Synchronization
import Testing

@testable import ClientCore

/// Answers of one of Google's services, in order; the last one for ever.
private final class ScriptedGoogle: HTTPExchanging {
  private let state: Mutex<(answers: [IncomingResponse], requests: [OutgoingRequest])>

  init(_ answers: [IncomingResponse]) { state = Mutex((answers, [])) }

  var requests: [OutgoingRequest] { state.withLock { $0.requests } }

  func exchange(_ request: OutgoingRequest) async throws -> IncomingResponse {
    state.withLock { state in
      state.requests.append(request)
      return state.answers.count > 1 ? state.answers.removeFirst() : state.answers[0]
    }
  }
}

@Suite("Consumers of cloud tokens")
struct GoogleServiceTests {
  private let broker = ScriptedBroker()
  private let lines = LogLines()
  private var tokens: TokenBrokerClient { TokenBrokerClient(channel: broker.channel, idTokens: ScriptedPerson("id-token")) }

  private static func answer(_ status: Int, _ json: String, _ headers: [String: String] = [:]) -> IncomingResponse {
    IncomingResponse(status: status, headers: headers, body: Array(json.utf8))
  }

  private static let silence = answer(200, "{}")

  @Test("B-38: audio goes to Speech-to-Text as JSON with the broker's token, and its transcript comes back whole")
  func speech() async throws {
    let google = ScriptedGoogle([
      Self.answer(
        200,
        """
        {"results":[{"alternatives":[{"transcript":"hello","confidence":0.9,"words":[{"startTime":"0.500s","endTime":"0.9s",
        "word":"hello"}]}],"resultEndTime":"1.2s","languageCode":"en-us"},{"alternatives":[{"transcript":" world"}]}],
        "totalBilledTime":"4s"}
        """)
    ])
    let speech = SpeechToText(tokens: tokens, capability: "speech", http: google, log: lines.log)
    var request = SpeechToText.Request(.content([1, 2, 3]), encoding: .linear16, sampleRate: 16000)
    request.phrases = ["Parley"]
    let transcript = try await speech.recognize(request)
    #expect(transcript.text == "hello world" && transcript.billedTime == .seconds(4))
    #expect(transcript.stretches[0].end == .milliseconds(1200) && transcript.stretches[0].language == "en-us")
    #expect(
      transcript.stretches[0].alternatives[0].words == [.init(text: "hello", start: .milliseconds(500), end: .milliseconds(900))])
    let sent = try #require(google.requests.first)
    #expect(sent.method == "POST" && sent.url == "https://speech.googleapis.com/v1/speech:recognize")
    #expect(sent.headers["authorization"] == "Bearer token-1" && sent.headers["content-type"] == "application/json")
    #expect(
      String(decoding: sent.body, as: UTF8.self)
        == #"{"config":{"languageCode":"en-US","enableAutomaticPunctuation":true,"encoding":"LINEAR16","sampleRateHertz":16000,"speechContexts":[{"phrases":["Parley"]}]},"audio":{"content":"AQID"}}"#
    )
    #expect(broker.exchanges.map(\.capability) == ["speech"])
    #expect(lines.all.map(\.category) == ["SpeechToText"] && lines.messages == ["using access token of the token broker"])
  }

  @Test("B-38: no results are silence, not an error")
  func silent() async throws {
    let speech = SpeechToText(tokens: tokens, http: ScriptedGoogle([Self.silence]))
    #expect(try await speech.recognize(.init(.uri("gs://b/o"))).text == "")
  }

  @Test("B-39: a question goes to Gemini with the broker's token; thoughts are no part of the answer")
  func gemini() async throws {
    let google = ScriptedGoogle([
      Self.answer(
        200,
        """
        {"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"hel"},{"text":"lo"}]},
        "finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":2,"totalTokenCount":42},
        "modelVersion":"g-1"}
        """)
    ])
    var request = GeminiRequest(
      turns: [.init(.user, [.text("format"), .data(type: "audio/wav", [0x52, 0x49]), .file(type: "a/b", uri: "u")])],
      instruction: "be brief")
    request.temperature = 0.5
    request.responseType = "application/json"
    let answer = try await Gemini(tokens: tokens, http: google, log: lines.log).generateContent(request)
    #expect(answer.text == "hello" && answer.candidates[0].finishReason == "STOP" && answer.candidates[0].parts.count == 3)
    #expect(answer.usage == .init(prompt: 40, candidates: 2, total: 42) && answer.modelVersion == "g-1")
    let sent = try #require(google.requests.first)
    #expect(sent.url == "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.0-flash:generateContent")
    #expect(sent.headers["authorization"] == "Bearer token-1")
    #expect(
      String(decoding: sent.body, as: UTF8.self)
        == #"{"contents":[{"role":"user","parts":[{"text":"format"},{"inlineData":{"mimeType":"audio/wav","data":"Ukk="}},{"fileData":{"mimeType":"a/b","fileUri":"u"}}]}],"systemInstruction":{"parts":[{"text":"be brief"}]},"generationConfig":{"temperature":0.5,"responseMimeType":"application/json"}}"#
    )
    #expect(lines.all.map(\.category) == ["Gemini"])
  }

  @Test("B-39: a blocked question has no answer but a reason")
  func blocked() async throws {
    let google = ScriptedGoogle([Self.answer(200, #"{"promptFeedback":{"blockReason":"SAFETY"}}"#)])
    let answer = try await Gemini(tokens: tokens, http: google).generateContent(.init("x"))
    #expect(answer.text == nil && answer.candidates.isEmpty && answer.blockReason == "SAFETY")
  }

  @Test("A model whose name would lead elsewhere is refused before anything is sent", arguments: ["", "a/b", "x:y", "é", "a?b"])
  func modelName(_ model: String) async {
    let google = ScriptedGoogle([Self.silence])
    let error = await failure(GoogleError.self) {
      _ = try await Gemini(model: model, tokens: tokens, http: google).generateContent(.init("x"))
    }
    #expect(error?.code.rawValue == 400 && google.requests.isEmpty && broker.exchanges.isEmpty)
  }

  @Test("B-38, B-39: a token that Google refuses is forgotten and the request sent once more with a new one")
  func refusedToken() async throws {
    let tokens = tokens
    let google = ScriptedGoogle([Self.answer(401, "{}"), Self.silence])
    _ = try await SpeechToText(tokens: tokens, http: google).recognize(.init(.content([1])))
    #expect(google.requests.map { $0.headers["authorization"] } == ["Bearer token-1", "Bearer token-2"])
    // Refused twice is refused; the next request does not start with the refused one.
    let never = ScriptedGoogle([Self.answer(401, #"{"error":{"code":401,"message":"who?","status":"UNAUTHENTICATED"}}"#)])
    let error = await failure(GoogleError.self) { _ = try await Gemini(tokens: tokens, http: never).generateContent(.init("x")) }
    #expect(error?.code == .unauthorized && error?.status == "UNAUTHENTICATED" && error?.message == "who?")
    #expect(never.requests.map { $0.headers["authorization"] } == ["Bearer token-2", "Bearer token-3"])
    #expect(try await tokens.accessToken().value == "token-4")
  }

  @Test("A token that was replaced meanwhile is not thrown away with the refused one")
  func lateRefusal() async throws {
    let tokens = tokens
    let old = try await tokens.accessToken()
    await tokens.discard(old)
    #expect(try await tokens.accessToken().value == "token-2")
    await tokens.discard(old)
    #expect(try await tokens.accessToken().value == "token-2")
  }

  @Test(
    "Google's errors are read, as an object or as an array with one",
    arguments: [
      (
        #"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
        "RESOURCE_EXHAUSTED", 17
      ),
      (#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}]"#, "RESOURCE_EXHAUSTED", 9),
      (#"{"error":"quota"}"#, "", 9), ("<html>", "", 9),
    ])
  func errors(body: String, status: String, wait: Int) async {
    let google = ScriptedGoogle([Self.answer(429, body, ["retry-after": "9"])])
    let error = await failure(GoogleError.self) { _ = try await Gemini(tokens: tokens, http: google).generateContent(.init("x")) }
    #expect(error?.code == .rateLimited && error?.status == status && error?.retryAfter == .seconds(wait))
    #expect(error?.message == (body == "<html>" ? "HTTP 429 without an error document" : "quota"))
  }

  @Test("Without a token nothing is sent")
  func noToken() async {
    let google = ScriptedGoogle([Self.silence])
    let tokens = TokenBrokerClient(channel: broker.channel, idTokens: ScriptedPerson(nil))
    let error = await failure(TokenBrokerError.self) {
      _ = try await SpeechToText(tokens: tokens, http: google).recognize(.init(.content([])))
    }
    #expect(error?.code == .notSignedIn && google.requests.isEmpty)
  }

  @Test("Over URLSession a request arrives as it was put together, and a redirect does not get the token")
  func overURLSession() async throws {
    let web = try ScriptedServer { request, connection in
      request.target.contains("speech")
        ? connection.respond(200, ["content-type: application/json"], #"{"results":[{"alternatives":[{"transcript":"hi"}]}]}"#)
        : connection.respond(307, ["location: http://127.0.0.1:1/steal"], "")
    }
    defer { web.close() }
    let http = URLSessionExchange()
    let speech = SpeechToText(tokens: tokens, http: http, baseURL: "\(web.url)")
    #expect(try await speech.recognize(.init(.content([1]))).text == "hi")
    #expect(web.requests[0].verb == "POST" && web.requests[0].headers["authorization"] == "Bearer token-1")
    #expect(web.requests[0].bodyText.contains(#""content":"AQ==""#))
    let error = await failure(GoogleError.self) {
      _ = try await Gemini(tokens: tokens, http: http, baseURL: "\(web.url)").generateContent(.init("x"))
    }
    #expect(error?.code.rawValue == 307 && web.requests.count == 2)
    let nobody = SpeechToText(tokens: tokens, http: http, baseURL: "http://127.0.0.1:1")
    #expect(await failure(GoogleError.self) { _ = try await nobody.recognize(.init(.content([]))) }?.code == .noResponse)
  }
}
