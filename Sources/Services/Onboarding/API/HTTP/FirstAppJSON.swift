internal import JSON
internal import MessagesCore
internal import ParleyAPI
internal import RPCServer

/// Messages as the first app reads them: every member is there, durations are seconds, and sizes are numbers.
enum FirstAppJSON {
  static func answer(_ message: CompleteResponse) throws -> HTTPServerResponse { response(try members(message)) }

  static func answer(_ message: ReExtractResponse) throws -> HTTPServerResponse { response(try members(message)) }

  static func answer(_ message: TranscribeResponse) throws -> HTTPServerResponse {
    var body = try members(message)
    body["duration"] = message.duration.map { JSONValue.seconds($0.duration) }
    return response(body)
  }

  static func answer(_ message: ListVoiceClipsResponse) throws -> HTTPServerResponse {
    let clips = try message.clips.map { clip in
      var body = try members(clip)
      body["duration"] = clip.duration.map { JSONValue.seconds($0.duration) }
      body["size"] = .number(JSONNumber(clip.size))
      return JSONValue.object(body)
    }
    return response(["success": true, "clips": .array(clips)])
  }

  static func answer(_ message: CloneVoiceResponse) -> HTTPServerResponse {
    let voice = message.voice.flatMap { $0.voiceID.isEmpty ? nil : $0.voiceID }
    return response(["success": true, "voiceId": voice.map { JSONValue.string($0) } ?? .null], status: 202)
  }

  static func response(_ body: JSONObject, status: Int = 200) -> HTTPServerResponse {
    .json(status, JSONValue.object(body).encoded())
  }

  private static func members(_ message: some Message) throws -> JSONObject {
    try JSONParser.parse(try message.jsonBytes(options: JSONEncodingOptions(writesDefaults: true))).object ?? [:]
  }
}

extension JSONValue {
  fileprivate static func seconds(_ duration: Duration) -> JSONValue {
    JSONNumber(duration / .seconds(1)).map { .number($0) } ?? .null
  }
}
