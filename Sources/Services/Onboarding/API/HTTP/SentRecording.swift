internal import Multipart
internal import RPCServer

/// The recording that a plain HTTP request brings: a part of a form, or a body that is one.
struct SentRecording {
  let bytes: [UInt8]
  /// What it was called; empty where nobody said, or something that is no recording.
  let mediaType: String
  /// The `sessionId` beside it: another part of the form, or a parameter of the query.
  let session: String?

  /// - Throws: What is sent where there is none, or the form cannot be read.
  init(_ body: [UInt8], of request: HTTPServerRequest) throws {
    let type = request.header("content-type") ?? ""
    let missing = OnboardingRefusal.invalid(field: "audio", "the recording is missing")
    guard type.lowercased().hasPrefix("multipart/form-data") else {
      guard !body.isEmpty else { throw missing.rpcError }
      (bytes, mediaType, session) = (body, Self.audio(type), request.queryValue("sessionId"))
      return
    }
    let form: MultipartBody
    do throws(MultipartError) { form = try MultipartBody(parsing: body, contentType: type) } catch {
      throw OnboardingRefusal.invalid(field: "body", "the form cannot be read: \(error.code)").rpcError
    }
    guard let part = form["audio"] ?? form["file"], !part.bytes.isEmpty else { throw missing.rpcError }
    (bytes, mediaType) = (Array(part.bytes), Self.audio(part.mediaType ?? ""))
    session = form["sessionId"].map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  private static func audio(_ type: String) -> String { type.hasPrefix("audio/") ? type : "" }
}
