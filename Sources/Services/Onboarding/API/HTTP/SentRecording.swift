internal import Multipart
internal import RPC
internal import RPCServer

/// The recording that a plain HTTP request brings: a part of a form, or a body that is one.
struct SentRecording {
  let bytes: [UInt8]
  /// What it was called; empty where nobody said, or only that it is bytes.
  let mediaType: String
  /// The `sessionId` beside it: another part of the form, or a parameter of the query.
  let session: String?

  /// - Throws: What is sent where there is none, or the form cannot be read.
  init(_ body: [UInt8], of request: HTTPServerRequest) throws {
    let type = request.header("content-type") ?? ""
    let missing = OnboardingRefusal.invalid(field: "audio", "the recording is missing")
    guard type.lowercased().hasPrefix("multipart/form-data") else {
      guard !body.isEmpty else { throw missing.rpcError }
      (bytes, mediaType, session) = (body, Self.declared(type), request.queryValue("sessionId"))
      return
    }
    let form: MultipartBody
    do throws(MultipartError) { form = try MultipartBody(parsing: body, contentType: type) } catch {
      throw OnboardingRefusal.invalid(field: "body", "the form cannot be read: \(error.code)").rpcError
    }
    guard let part = form["audio"] ?? form["file"], !part.bytes.isEmpty else { throw missing.rpcError }
    (bytes, mediaType) = (Array(part.bytes), Self.declared(part.mediaType ?? ""))
    session = form["sessionId"].map { String(decoding: $0.bytes, as: UTF8.self) }
  }

  /// How large a body may be that brings a recording of so many bytes, with the form around it.
  static func limit(_ bytes: Int, in room: String) -> RequestLimit { RequestLimit(bytes: bytes + (64 << 10), room: room) }

  /// What tools say of a body where nobody told them anything.
  private static let undeclared = ["", "application/octet-stream", "application/x-www-form-urlencoded"]

  private static func declared(_ type: String) -> String {
    let essence = type.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
    return undeclared.contains(essence) ? "" : essence
  }
}
