internal import Audio
internal import EventLoop
internal import JOSE
internal import OnboardingDomain
internal import OnboardingStore
internal import ParleyAPI
internal import PostgreSQL
internal import RPC
internal import Synchronization
internal import Values
internal import WellKnown

/// Takes recordings in pieces. No more than a piece of each is in memory, but for those that are looked into.
struct UploadDesk: Sendable {
  let database: Database
  let uploads: UploadStore
  let recordings: RecordingStore
  let submissions: SubmissionStore
  let probe: AudioProbe
  /// Where recordings are that are looked into.
  let room: RecordingRoom
  /// Where the calling is done that would hold up a loop.
  let blocking: BlockingPool
  let now: @Sendable () -> Instant

  func progress(of name: String, _ user: UUID) async throws -> GetUploadResponse {
    guard let upload = try await uploads.upload(name, of: user, on: database.reads) else { throw OnboardingRefusal.noUpload }
    return .init(offset: upload.received, isComplete: upload.isComplete)
  }

  func take(_ requests: RequestStream<UploadRecordingRequest>, of user: UUID) async throws -> UploadRecordingResponse {
    var requests = requests
    guard let first = try await requests.next(), let head = first.head else {
      throw OnboardingRefusal.invalid(field: "head", "the first message says what is uploaded")
    }
    try Self.check(head)
    guard try await submissions.departure(of: user) == nil else { throw OnboardingRefusal.departed }
    var upload = try await begin(head, of: user)
    guard upload.digest == Array(head.sha256), upload.size == head.size else { throw OnboardingRefusal.digestMismatch }
    if !upload.isComplete {
      guard head.offset == upload.received else { throw OnboardingRefusal.wrongOffset(durable: upload.received) }
      var beginning = try await beginning(of: upload, user)
      try await add(Array(first.data), to: &upload, &beginning, head, of: user)
      while let next = try await requests.next() {
        try await add(Array(next.data), to: &upload, &beginning, head, of: user)
      }
      guard upload.received == upload.size else { throw OnboardingRefusal.wrongOffset(durable: upload.received) }
      try await complete(upload, head, of: user)
    }
    let kept = try await recordings.recording(upload.digest, of: user, on: database)
    return .init(
      reference: AnswerContent.reference(upload.digest), size: upload.size, duration: kept?.duration.map { .init($0) })
  }

  /// What came before of an upload that goes on, as far as it may still tell what is uploaded.
  private func beginning(of upload: UploadStore.Upload, _ user: UUID) async throws -> AudioBeginning {
    var beginning = AudioBeginning()
    guard upload.received < AudioBeginning.sufficient else { return beginning }
    while let piece = try await recordings.piece(at: Int64(beginning.count), in: upload.stage, of: user) { beginning.add(piece) }
    return beginning
  }

  private func begin(_ head: RecordingHead, of user: UUID) async throws -> UploadStore.Upload {
    if let known = try await uploads.upload(head.uploadID, of: user, on: database.reads) { return known }
    return try await submissions.entering(user, asking: { RecordingQuota.ask(of: user, in: &$0) }) { transaction, asked, found in
      try RecordingQuota(asked, in: found).mustBegin(head.size)
      return try await uploads.begin(
        head.uploadID, digest: Array(head.sha256), size: head.size, mediaType: head.contentType, of: user, at: now(),
        in: transaction)
    }
  }

  private static func check(_ head: RecordingHead) throws(OnboardingRefusal) {
    guard (16...64).contains(head.uploadID.utf8.count) else { throw .invalid(field: "head.upload_id", "16 to 64 characters") }
    guard head.sha256.count == 32 else { throw .invalid(field: "head.sha256", "32 bytes") }
    guard head.size > 0 else { throw .invalid(field: "head.size", "at least 1 byte") }
    guard head.size <= SubmissionLimits.recording else { throw .badRecording(field: "head.size", word: "audio_too_large") }
    guard head.offset >= 0 else { throw .invalid(field: "head.offset", "not negative") }
  }

  private func add(
    _ data: [UInt8], to upload: inout UploadStore.Upload, _ beginning: inout AudioBeginning, _ head: RecordingHead, of user: UUID
  ) async throws {
    guard !data.isEmpty else { return }
    guard data.count <= SubmissionLimits.piece else {
      throw OnboardingRefusal.invalid(field: "data", "at most \(SubmissionLimits.piece) bytes at once")
    }
    guard upload.received + Int64(data.count) <= upload.size else {
      throw OnboardingRefusal.invalid(field: "data", "more bytes than were announced")
    }
    // What is none is refused before all of it has come, once there is enough to tell.
    if upload.received < AudioBeginning.sufficient {
      beginning.add(data)
      if beginning.count >= AudioBeginning.sufficient {
        do throws(SpokenRecording.Refused) { _ = try Self.format(beginning, head) } catch {
          try await uploads.abandon(head.uploadID, upload, of: user)
          throw OnboardingRefusal.badRecording(field: "data", word: error.word)
        }
      }
    }
    guard try await uploads.add(data, at: upload.received, to: head.uploadID, of: user, at: now()) else {
      let durable = try await uploads.upload(head.uploadID, of: user, on: database)?.received ?? 0
      throw OnboardingRefusal.wrongOffset(durable: durable)
    }
    upload.received += Int64(data.count)
  }

  private static func format(
    _ beginning: AudioBeginning, _ head: RecordingHead
  ) throws(SpokenRecording.Refused) -> AudioFormat {
    try SpokenRecording.checked(beginning.format(ofSize: Int(head.size)), declared: head.contentType)
  }

  /// What came is what was announced: from now on it is a recording.
  private func complete(_ upload: UploadStore.Upload, _ head: RecordingHead, of user: UUID) async throws {
    let found: Found
    do {
      found = try await room.hold(max(Int(upload.size), Self.leastRoom)) { try await look(into: upload, head, of: user) }
    } catch let refusal as OnboardingRefusal {
      // Another stream of the same upload may have ended it meanwhile, and its bytes may be in the object store by now.
      if try await uploads.upload(head.uploadID, of: user, on: database)?.isComplete == true { return }
      try await uploads.abandon(head.uploadID, upload, of: user)
      throw refusal
    }
    try await submissions.entering(user) { transaction in
      guard let current = try await uploads.hold(head.uploadID, of: user, in: transaction), current.stage == upload.stage else {
        throw OnboardingRefusal.noUpload
      }
      guard !current.isComplete else { return }
      try await recordings.add(
        upload.digest, size: upload.size, format: found.format.rawValue, mediaType: found.format.mediaType,
        duration: found.duration, stage: upload.stage, of: user, at: now(), in: transaction)
      try await uploads.complete(head.uploadID, of: user, at: now(), in: transaction)
    }
  }

  /// What an upload counts for that is looked into, however small it is: it has descriptors besides.
  private static let leastRoom = 1 << 20

  /// What an upload turned out to be.
  private struct Found: Sendable {
    let format: AudioFormat
    /// How long it is; nil where nobody can tell now. Then it is taken all the same: who writes it down looks again.
    var duration: Duration?
  }

  /// Reads what came, piece by piece, and has it looked into.
  ///
  /// - Throws: ``OnboardingRefusal`` where it is not what was announced, no recording, longer than allowed, or a film.
  private func look(into upload: UploadStore.Upload, _ head: RecordingHead, of user: UUID) async throws -> Found {
    let hash = PieceHash()
    var beginning = AudioBeginning()
    var whole = AudioFileWriter()
    while let piece = try await recordings.piece(at: Int64(beginning.count), in: upload.stage, of: user) {
      beginning.add(piece)
      try await blocking.run { hash.update(piece) }
      whole.append(piece)
    }
    guard Int64(beginning.count) == upload.size, hash.finish() == upload.digest else { throw OnboardingRefusal.digestMismatch }
    var found: Found
    do throws(SpokenRecording.Refused) { found = Found(format: try Self.format(beginning, head)) } catch {
      throw OnboardingRefusal.badRecording(field: "data", word: error.word)
    }
    do throws(AudioError) { found.duration = try await probe.facts(of: try whole.file(as: found.format)).duration } catch {
      try Task.checkCancellation()
      guard error.code != .hasVideo, error.code != .tooLong else {
        throw OnboardingRefusal.badRecording(field: "data", word: "audio_\(error.code)")
      }
    }
    return found
  }
}

/// SHA-256 of what is hashed on one thread now and on another then, a piece after the other.
private final class PieceHash: Sendable {
  private let hash = Mutex(RunningSHA256())

  func update(_ piece: [UInt8]) { hash.withLock { $0.update(piece) } }

  func finish() -> [UInt8] { hash.withLock { $0.finish() } }
}
