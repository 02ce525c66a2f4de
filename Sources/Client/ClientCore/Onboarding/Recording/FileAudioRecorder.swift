public import Foundation
import Synchronization

/// Plays a file as if it were being recorded: for tests, simulators and the command line.
///
/// Each recording is a copy of the file in the folder, under a name of its own, so that whoever deletes it keeps the source.
public final class FileAudioRecorder: AudioRecorder {
  private struct State {
    var isPermitted: Bool?
    var current: URL?
  }

  private let source: URL
  private let folder: URL
  private let duration: Double?
  private let permits: Bool
  private let state = Mutex(State())

  /// A recorder that plays a file.
  ///
  /// - Parameters:
  ///   - source: The file.
  ///   - folder: Where recordings go. It has to be there.
  ///   - duration: How long the file is, in seconds; nil to read it in the file, which only a WAV says in its head.
  ///   - permits: What the person answers when asked for permission.
  public init(playing source: URL, into folder: URL, duration: Double? = nil, permits: Bool = true) {
    self.source = source
    self.folder = folder
    self.duration = duration
    self.permits = permits
  }

  /// Asks for the permission to record.
  public func requestPermission() -> Bool {
    state.withLock { $0.isPermitted = permits }
    return permits
  }

  /// Begins a recording.
  ///
  /// - Returns: The file that it goes to.
  /// - Throws: ``OnboardingError``; what the file system says.
  public func start() throws -> URL {
    try state.withLock { state in
      guard state.isPermitted == true else {
        throw OnboardingError(.notPermitted, "the person has not allowed recordings")
      }
      guard state.current == nil else { throw OnboardingError(.notRecording, "a recording is under way already") }
      let target = folder.appending(path: "\(UUID().uuidString.lowercased()).\(source.pathExtension)")
      try FileManager.default.copyItem(at: source, to: target)
      state.current = target
      return target
    }
  }

  /// Ends the recording.
  ///
  /// - Throws: ``OnboardingError`` when none was begun, and when nobody says how long the file is.
  public func stop() throws -> AudioRecording {
    let file = try state.withLock { state in
      guard let current = state.current else { throw OnboardingError(.notRecording, "no recording is under way") }
      state.current = nil
      return current
    }
    let bytes = [UInt8](try Data(contentsOf: file))
    guard let duration = duration ?? WAVTone.duration(of: bytes) else {
      throw OnboardingError(.unreadable, "nobody says how long the recording is")
    }
    return AudioRecording(fileURL: file, duration: duration, format: file.pathExtension.lowercased(), fileSize: bytes.count)
  }
}
