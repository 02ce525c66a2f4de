import MessagesCore
import ParleyAPI
import RPC
import WellKnown

/// A recording that travels by itself.
struct RecordingUpload: Sendable {
  let contentType: String
  let bytes: [UInt8]
  let sha256: [UInt8]

  /// What the upload is called: the same recording goes on under the same name, also after a restart.
  var name: String { SHA256.hexadecimal(digest: sha256) }
  /// What an answer refers to it by.
  var reference: String { "recording:\(name)" }

  /// The recording in an answer; nil when there is none, or none that can travel by itself.
  init?(_ answer: OnboardingAnswer, maximumBytes: Int = RecordingLimits.maximumBytes) {
    guard case .stringValue(let text)? = answer.value?.kind, let url = DataURL(text), url.isAudio,
      (1...maximumBytes).contains(url.bytes.count)
    else { return nil }
    contentType = url.mediaType
    bytes = url.bytes
    sha256 = SHA256.digest(url.bytes)
  }

  /// The messages of a stream that begins at a place.
  ///
  /// - Parameter size: How many bytes go in one message.
  func messages(from offset: Int, size: Int) -> some Sequence<UploadRecordingRequest> {
    let head = RecordingHead(
      uploadID: name, contentType: contentType, sha256: .init(sha256), size: Int64(bytes.count), offset: Int64(offset))
    // One message at least: what is complete is said to be so by its head alone.
    return stride(from: offset, to: max(bytes.count, offset + 1), by: size).lazy.map { place in
      UploadRecordingRequest(
        head: place == offset ? head : nil, data: .init(bytes[place..<min(place + size, bytes.count)]))
    }
  }
}

extension PushRun {
  /// Uploads a recording, from where an earlier attempt had come.
  ///
  /// - Returns: What an answer refers to it by.
  func reference(to upload: RecordingUpload) async throws -> String {
    var (place, failures) = (0, 0)
    while true {
      do {
        let arrived = try await arrived(upload)
        if arrived.isComplete { return upload.reference }
        if arrived.offset > place { failures = 0 }
        place = arrived.offset
        let response = try await service.uploadRecording(options: .timeout(options.transferTimeout)) { writer in
          for message in upload.messages(from: arrived.offset, size: options.pieceBytes) { try await writer.write(message) }
        }
        return response.reference.isEmpty ? upload.reference : response.reference
      } catch let error as RPCError
        where error.isWorthRepeating || Self.isAboutPlace(error) || (failures == 0 && SessionKeeper.isAboutToken(error))
      {
        // Streams are not repeated with a new token by themselves.
        try await pause(after: &failures, error)
      }
    }
  }

  private func arrived(_ upload: RecordingUpload) async throws(RPCError) -> (offset: Int, isComplete: Bool) {
    do {
      let response = try await service.getUpload(.init(uploadID: upload.name), options: .timeout(options.timeout))
      return (min(max(0, Int(response.offset)), upload.bytes.count), response.isComplete)
    } catch  where error.code == .notFound {
      return (0, false)
    }
  }

  /// Whether the service has another idea of how far an upload has come: it is asked again.
  private static func isAboutPlace(_ error: RPCError) -> Bool {
    error.code == .outOfRange || (error.code == .failedPrecondition && error.reason != "SUBSCRIPTION_REQUIRED")
  }
}
