public import EventLoop
internal import Glibc
public import Subprocess

/// The programs that read recordings, and what they may use.
///
/// Hostile files are read in a process of their own, never in this one. The file's kind is told to it, so that it does not guess one
/// that reads further files.
public struct AudioTools: Sendable {
  /// Where `ffprobe` is.
  public var ffprobe: String
  /// Where `ffmpeg` is.
  public var ffmpeg: String
  /// What a run of either may use.
  public var processLimits = ProcessLimits()
  /// How much a recording may be.
  public var limits = AudioLimits()
  private let pool: BlockingPool

  /// Tools.
  ///
  /// - Parameters:
  ///   - ffprobe: Where `ffprobe` is: an absolute path.
  ///   - ffmpeg: Where `ffmpeg` is: an absolute path.
  ///   - pool: Where the calling is done that waits for them; its threads are as many as run at once. It is the owner's to shut down.
  public init(ffprobe: String = "/usr/bin/ffprobe", ffmpeg: String = "/usr/bin/ffmpeg", on pool: BlockingPool) {
    self.ffprobe = ffprobe
    self.ffmpeg = ffmpeg
    self.pool = pool
  }

  /// The beginning of every command line: quiet, no network, the file on standard input, of this kind.
  ///
  /// The input is named as a file so that it can be sought in: the end of a recording often tells how to read it.
  private static func input(_ format: AudioFormat) -> [String] {
    ["-v", "quiet", "-protocol_whitelist", "file,pipe", "-f", demuxer(of: format), "-i", "/proc/self/fd/0"]
  }

  /// As ``input(_:)`` for several files, which stand one behind the other in the standard input.
  private static func inputs(_ files: [AudioBytes]) -> [String] {
    var (arguments, place) = (["-v", "quiet"], 0)
    for file in files {
      let end = place + file.bytes.count
      // Without a thread for each, which has address space for its stack and its allocations.
      arguments += ["-threads", "1", "-thread_queue_size", "0"]
      arguments += ["-protocol_whitelist", "file,pipe,subfile", "-f", demuxer(of: file.format)]
      arguments += ["-i", "subfile,,start,\(place),end,\(end),,:/proc/self/fd/0"]
      place = end
    }
    return arguments
  }

  private static func demuxer(of format: AudioFormat) -> String {
    switch format {
    case .m4a: "mov"
    case .aac: "aac"
    case .mp3: "mp3"
    case .wav: "wav"
    case .webm: "matroska"
    case .ogg: "ogg"
    }
  }

  /// What `ffprobe` says of a file: the fields `entries` as JSON.
  func probe(_ file: AudioFile, _ entries: String) async throws(AudioError) -> [UInt8] {
    try check(file)
    let process = LimitedProcess(
      ffprobe, ["-of", "json", "-show_entries", entries] + Self.input(file.format), limits: processLimits)
    return try await run(process, file.content, into: [UInt8]()) { output, chunk in
      output.append(contentsOf: chunk)
      return output.count <= 64 << 10
    }
  }

  /// Decodes a file to 16,000 samples a second of one channel, 16 bits each in this machine's order, and hands on their bytes.
  func decode<Result: Sendable>(
    _ file: AudioFile, into result: Result,
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(AudioError) -> Result {
    try check(file)
    let process = ffmpeg(reading: file, ["-ac", "1", "-ar", "\(LoudnessMeter.decodedRate)", "-f", "s16le", "pipe:1"])
    return try await run(process, file.content, into: result, read)
  }

  /// As ``decode(_:into:_:)``; but fails, as what cannot be read does, where there is a film beside the sound.
  ///
  /// A WAV file holds one stream: a film, which is mapped as a second one, keeps ffmpeg from beginning it. The picture of an album is
  /// none (the specifier `V`).
  func decodeSoundAlone<Result: Sendable>(
    _ file: AudioFile, into result: Result,
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(AudioError) -> Result {
    try check(file)
    let process = LimitedProcess(
      ffmpeg,
      ["-nostdin", "-threads", "1"] + Self.input(file.format) + ["-map", "0:a:0", "-map", "0:V?", "-c:v", "copy", "-sn", "-dn"]
        // So that nothing but the samples is in the file behind its first bytes.
        + ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]
        + ["-ac", "1", "-ar", "\(LoudnessMeter.decodedRate)", "-c:a", "pcm_s16le", "-f", "wav", "pipe:1"],
      limits: processLimits)
    let output = try await run(process, file.content, into: SoundAlone(result)) { output, chunk in output.take(chunk, read) }
    guard output.hasSamples else { throw AudioError(.unreadable, detail: "no samples") }
    return output.result
  }

  /// As ``decodeSoundAlone(_:into:_:)`` for several files in one run, which costs little more than one of them alone: most of that is to
  /// load the decoder. The run fails as a whole where one of them cannot be read, or has a film beside its sound.
  ///
  /// - Parameters:
  ///   - files: Two or more.
  ///   - results: What is begun with, for each.
  ///   - read: Takes the next samples of a file.
  func decodeSoundsAlone<Result: Sendable>(
    _ files: [AudioBytes], into results: [Result],
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(AudioError) -> [Result] {
    var content = ProcessInputWriter()
    for file in files {
      guard !file.bytes.isEmpty else { throw AudioError(.empty) }
      content.append(file.bytes)
    }
    let input: ProcessInput
    do throws(SubprocessError) { input = try content.sealed() } catch { throw AudioError(.toolFailed, detail: error.message) }
    guard input.count <= limits.fileSize else { throw AudioError(.tooLarge) }
    let process = LimitedProcess(
      ffmpeg,
      // An error within one of them, or too little memory for all, ends the run: it would be taken for silence.
      ["-nostdin", "-xerror", "-filter_threads", "1"] + Self.inputs(files)
        // A film is a stream more than there are files.
        + files.indices.flatMap { ["-map", "\($0):a:0", "-map", "\($0):V?"] } + ["-c:v", "copy", "-sn", "-dn"]
        + ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]
        + ["-ac", "1", "-ar", "\(LoudnessMeter.decodedRate)", "-c:a", "pcm_s16le", "-f", "avi", "pipe:1"],
      limits: processLimits)
    return try await run(process, input, into: SeparatedSounds(results)) { output, chunk in output.take(chunk, read) }.results
  }

  /// What comes of a WAV file that ffmpeg writes: 44 bytes that say what the samples are, then the samples.
  private struct SoundAlone<Result: Sendable>: Sendable {
    private static var header: Int { 44 }

    var result: Result
    private var head: [UInt8] = []

    init(_ result: Result) { self.result = result }

    /// Whether the first bytes are those that are known: what stands behind others would be taken for samples.
    var hasSamples: Bool {
      head.count == Self.header && head[0..<4].elementsEqual("RIFF".utf8) && head[8..<16].elementsEqual("WAVEfmt ".utf8)
        && head[36..<40].elementsEqual("data".utf8)
    }

    /// Takes the next bytes; false where `read` wants no more.
    mutating func take(
      _ chunk: UnsafeRawBufferPointer, _ read: (inout Result, UnsafeRawBufferPointer) -> Bool
    ) -> Bool {
      let missing = min(Self.header - head.count, chunk.count)
      head += chunk[..<missing]
      guard hasSamples, missing < chunk.count else { return true }
      return read(&result, UnsafeRawBufferPointer(rebasing: chunk[missing...]))
    }
  }

  /// The samples of a file that is plain PCM, for which no program is needed; nil for any other.
  ///
  /// - Throws: ``AudioError`` with ``AudioError/Code/tooLong``, or why it is too large to be looked at.
  func plainSound(of file: AudioFile) throws(AudioError) -> WaveSound? {
    try check(file)
    guard file.format == .wav, let sound = file.content.withBytes({ WaveSound($0) }) ?? nil else { return nil }
    guard sound.duration <= limits.duration else { throw AudioError(.tooLong) }
    return sound
  }

  /// Does on a thread of the pool what would hold up a loop.
  func besideTheLoop<Value: Sendable>(
    _ body: @escaping @Sendable () throws(AudioError) -> Value
  ) async throws(AudioError) -> Value {
    do { return try await pool.run { try body() } } catch let error as AudioError { throw error } catch {
      throw AudioError(.toolFailed, detail: "\(error)")
    }
  }

  /// The same sound in an M4A file, not coded anew: what came as bare frames of AAC, which many who take M4A do not.
  ///
  /// - Parameter file: What was read before, and is AAC.
  /// - Throws: ``AudioError``; ``AudioError/Code/tooExpensive`` where the file that is made is larger than any may be.
  public func repacked(_ file: AudioFile) async throws(AudioError) -> [UInt8] {
    try check(file)
    // In fragments of ten seconds: the beginning of any other MPEG-4 file is written last, and there is no going back in a pipe.
    let process = ffmpeg(
      reading: file,
      [
        "-c:a", "copy", "-bsf:a", "aac_adtstoasc", "-f", "mp4", "-movflags", "+empty_moov+default_base_moof", "-frag_duration",
        "10000000", "pipe:1",
      ])
    let limit = limits.fileSize
    return try await run(process, file.content, into: [UInt8]()) { output, chunk in
      output.append(contentsOf: chunk)
      return output.count <= limit
    }
  }

  /// `ffmpeg` that makes something of a file's sound alone.
  private func ffmpeg(reading file: AudioFile, _ arguments: [String]) -> LimitedProcess {
    LimitedProcess(
      ffmpeg,
      ["-nostdin", "-threads", "1"] + Self.input(file.format) + ["-map", "0:a:0", "-vn", "-sn", "-dn"] + arguments,
      limits: processLimits)
  }

  private func check(_ file: AudioFile) throws(AudioError) {
    guard file.content.count > 0 else { throw AudioError(.empty) }
    guard file.content.count <= limits.fileSize else { throw AudioError(.tooLarge) }
  }

  private func run<Result: Sendable>(
    _ process: LimitedProcess, _ input: ProcessInput, into result: Result,
    _ read: @escaping @Sendable (inout Result, UnsafeRawBufferPointer) -> Bool
  ) async throws(AudioError) -> Result {
    let run: (ending: LimitedProcess.Ending, result: Result)
    do { run = try await process.run(input: input, on: pool, into: result, read) } catch {
      switch error.code {
      case .programMissing: throw AudioError(.toolMissing, detail: error.message)
      case .timedOut: throw AudioError(.timedOut)
      case .outputRefused: throw AudioError(.tooExpensive, detail: "\(error.code)")
      case .cancelled: throw AudioError(.cancelled)
      default: throw AudioError(.toolFailed, detail: error.message)
      }
    }
    switch run.ending {
    case .exited(0): return run.result
    // What the dynamic linker and shells end with that cannot start a program.
    case .exited(let status) where status == 126 || status == 127: throw AudioError(.toolFailed, detail: "status \(status)")
    case .exited(let status): throw AudioError(.unreadable, detail: "status \(status)")
    case .signalled(SIGXCPU): throw AudioError(.tooExpensive, detail: "cpu time")
    // A crash, or a machine without memory: neither tells anything of the file that holds next time.
    case .signalled(let signal): throw AudioError(.toolFailed, detail: "signal \(signal)")
    }
  }

  // MARK: Whose fault it is

  /// Reads a file; that it cannot be read is said only where the same reading of a good recording goes well.
  ///
  /// A tool that is broken, or has too little memory to begin with, ends as it does for a file that is broken. Each time the good one is
  /// read anew: what was true a minute ago tells nothing of a machine that has just run out of something.
  func blaming<Value>(
    _ file: AudioFile, _ read: (AudioFile) async throws(AudioError) -> Value
  ) async throws(AudioError) -> Value {
    let fault: AudioError
    do throws(AudioError) { return try await read(file) } catch { fault = error }
    guard fault.code == .unreadable else { throw fault }
    do throws(AudioError) { _ = try await read(try AudioFile(Self.goodRecording, as: .wav)) } catch {
      guard error.isPermanent else { throw error }
      throw AudioError(.toolFailed, detail: "it does not read a good recording either (\(error))")
    }
    throw fault
  }

  /// A WAV file of 20 ms: 320 samples of 16 bits of one channel, 16,000 a second.
  private static let goodRecording: [UInt8] = {
    func little(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    let samples = (0..<320).flatMap { little($0 / 20 % 2 == 0 ? 8_000 : -8_000, 2) }
    let format = Array("WAVEfmt ".utf8) + little(16, 4) + little(1, 2) + little(1, 2) + little(16_000, 4) + little(32_000, 4)
    let body = format + little(2, 2) + little(16, 2) + Array("data".utf8) + little(samples.count, 4) + samples
    return Array("RIFF".utf8) + little(body.count, 4) + body
  }()
}
