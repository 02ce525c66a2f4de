import Foundation
public import ParleyAPI
import WellKnown

/// How long recordings are at least, and how large at most.
public struct RecordingLimits: Sendable, Hashable {
  /// The largest recording that the service takes, in bytes.
  public static let maximumBytes = 10 << 20
  /// The minimum of steps that have none of their own, in seconds.
  public static let defaultMinimum = 5.0

  /// The minima of single steps, in seconds.
  public var minima: [Int: Double]

  /// Limits; without any, every recording has at least 5 s.
  public init(minima: [Int: Double] = [:]) { self.minima = minima }

  /// The limits that a catalogue asks for.
  ///
  /// - Parameter steps: The steps, as the service tells them.
  public init(_ steps: [OnboardingStep]) {
    minima = [:]
    for step in steps {
      guard let minimum = step.minimumDuration else { continue }
      minima[Int(step.number)] = Double(minimum.seconds) + Double(minimum.nanos) / 1e9
    }
  }

  /// How long the recording of a step is at least, in seconds.
  public func minimum(of step: Int) -> Double { minima[step] ?? Self.defaultMinimum }

  /// Refuses a recording that is too short for its step.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/tooShort``.
  public func check(_ recording: AudioRecording, step: Int) throws(OnboardingError) {
    let minimum = minimum(of: step)
    guard recording.duration >= minimum else {
      throw OnboardingError(
        .tooShort, step: step, "the answer to step \(step) has to be \(minimum.formatted()) s long at least")
    }
  }
}
