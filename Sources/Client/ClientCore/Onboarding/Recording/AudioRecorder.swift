public import Foundation

/// What records a voice: the device's microphone in an app, a file in tests and on the command line.
public protocol AudioRecorder: Sendable {
  /// Asks the person for the permission to record, the first time; afterwards it is what was said then.
  ///
  /// - Returns: Whether recordings may be made.
  func requestPermission() async -> Bool

  /// Begins a recording.
  ///
  /// - Returns: The file that it goes to.
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/notPermitted`` without permission, with
  ///   ``OnboardingError/Code/notRecording`` when one was begun already; whatever the device says.
  func start() async throws -> URL

  /// Ends the recording.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/notRecording`` when none was begun.
  func stop() async throws -> AudioRecording
}

/// A recording that has ended.
public struct AudioRecording: Sendable, Hashable {
  /// The file.
  public let fileURL: URL
  /// How long it is, in seconds.
  public let duration: Double
  /// What it is, by the ending of such files: `m4a`, `wav`.
  public let format: String
  /// How large the file is, in bytes.
  public let fileSize: Int

  /// A recording.
  public init(fileURL: URL, duration: Double, format: String, fileSize: Int) {
    self.fileURL = fileURL
    self.duration = duration
    self.format = format
    self.fileSize = fileSize
  }
}
