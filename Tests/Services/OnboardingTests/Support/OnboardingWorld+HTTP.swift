import Foundation
import JOSE
import JSON
import MessagesCore
import Outbound
import ParleyAPI
import TestParley
import Testing

extension OnboardingWorld {
  /// Sends a plain HTTP request, and hands over all of the answer.
  func send(
    _ method: HTTPMethod, _ path: String, _ body: [UInt8]? = nil, as user: TestUser?, _ headers: HTTPHeaders = [:]
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(method, address + path, headers: headers, body: body)
    request.timeout = .seconds(100)
    request.maximumResponseSize = 16 << 20
    if let user { request.headers.add("Authorization", "Bearer \(user.accessToken)") }
    return try await http.send(request)
  }

  /// Expects each recording of a record among somebody's files, byte for byte.
  func expectFiles(of state: OnboardingState, _ user: TestUser) throws {
    for (step, bytes) in try Self.recordings(in: state) {
      let name = Hexadecimal.text(SHA256.digest(bytes))
      let kept = try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(user.userID)/\(name)"))
      #expect([UInt8](kept) == bytes, "step \(step)")
    }
  }

  /// The body of `POST /onboarding/v3/complete` with a record.
  static func body(_ state: OnboardingState) throws -> [UInt8] {
    JSONValue.object(["state": try JSONParser.parse(try state.jsonBytes())]).encoded()
  }

  /// A recording as a part of a form, with a session beside it, and what the form is called.
  static func form(_ bytes: [UInt8]?, name: String = "audio", session: String? = nil) -> (body: [UInt8], headers: HTTPHeaders) {
    var body: [UInt8] = []
    func part(_ disposition: String, _ content: [UInt8]) {
      body += Array("--edge\r\nContent-Disposition: form-data; \(disposition)\r\n\r\n".utf8) + content + Array("\r\n".utf8)
    }
    if let session { part(#"name="sessionId""#, Array(session.utf8)) }
    if let bytes { part("name=\"\(name)\"; filename=\"a.m4a\"\r\nContent-Type: audio/mp4", bytes) }
    body += Array("--edge--\r\n".utf8)
    return (body, ["Content-Type": "multipart/form-data; boundary=edge"])
  }
}
