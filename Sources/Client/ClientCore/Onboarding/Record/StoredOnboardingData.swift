public import Foundation
import JSON

/// What somebody has answered so far, as it is kept on the device until it has been pushed.
///
/// No account is needed for it. Two numbers in it are derived, whatever was counted: how many steps have an answer, and how far the
/// person has come.
public struct StoredOnboardingData: Sendable, Hashable {
  /// How many steps there are.
  public static let stepCount = 45

  /// The step that the person has come to, from 1.
  public var currentStep: Int
  /// The answers by step.
  public var responses: [Int: OnboardingResponseData]
  /// When the first step was taken, ISO 8601.
  public var startedAt: String
  /// When the record was last written, ISO 8601.
  public var lastSavedAt: String
  /// Whether all steps were taken; nil in records of apps that did not say.
  public var isCompleted: Bool?
  /// When, ISO 8601.
  public var completedAt: String?
  /// The person's name.
  public var userName: String?
  /// The evening call: `20:30` or `20:30-21:00`.
  public var callTime: String?
  /// The person's time zone, an IANA identifier.
  public var userTimezone: String?
  /// The name of a brother, of older apps.
  public var brotherName: String?
  /// When the person gets up, of older apps.
  public var wakeUpTime: String?
  /// `BROKEN`, `HUNGRY` or `FROZEN`, of older apps.
  public var userPath: String?

  /// A record in which nothing is answered yet.
  ///
  /// - Parameters:
  ///   - startedAt: When the person began.
  ///   - timezone: The device's time zone, an IANA identifier.
  public init(startedAt: Date = Date(), timezone: String? = nil) {
    currentStep = 1
    responses = [:]
    self.startedAt = Self.text(startedAt)
    lastSavedAt = self.startedAt
    userTimezone = timezone
  }

  /// How many steps have an answer: a step that is answered again counts once.
  public var totalResponses: Int { responses.count }

  /// How far the person has come, 0 to 100: `currentStep / 45`, rounded.
  public var progressPercentage: Int {
    let step = min(max(currentStep, 0), Self.stepCount)
    return (step * 200 + Self.stepCount) / (Self.stepCount * 2)
  }

  /// Keeps an answer, and the step as the one that the person has come to. An answer that was there before is replaced.
  public mutating func answer(_ step: Int, _ response: OnboardingResponseData) {
    responses[step] = response
    currentStep = max(currentStep, step)
    lastSavedAt = max(lastSavedAt, response.timestamp)
  }

  /// The same record with all steps taken: the last step, 100 %.
  public func completed(at time: Date = Date()) -> StoredOnboardingData {
    var data = self
    data.currentStep = Self.stepCount
    data.isCompleted = true
    data.completedAt = completedAt ?? Self.text(time)
    return data
  }

  /// The record in a line: `Onboarding: 2 responses, Step 45, 100% (COMPLETED)`.
  public var summary: String {
    let standing = isCompleted == true ? "COMPLETED" : "IN PROGRESS"
    return "Onboarding: \(totalResponses) responses, Step \(currentStep), \(progressPercentage)% (\(standing))"
  }

  /// Refuses a record with the path of a file in it, or a recording that is too large.
  ///
  /// - Throws: ``OnboardingError`` with ``OnboardingError/Code/filePath`` or ``OnboardingError/Code/tooLarge``, and the first such
  ///   step.
  public func checkValues() throws(OnboardingError) {
    for (step, response) in responses.sorted(by: { $0.key < $1.key }) {
      guard !response.holdsFilePath else {
        throw OnboardingError(
          .filePath, step: step,
          "the answer to step \(step) is the path of a file, which nobody else can read: store the recording as a data URL")
      }
      guard !response.holdsTooLargeRecording else { throw .tooLarge(step: step) }
    }
  }

  /// `2026-01-02T03:04:05.678Z`
  static func text(_ time: Date) -> String { time.formatted(.iso8601WithMilliseconds) }
}

extension FormatStyle where Self == Date.ISO8601FormatStyle {
  static var iso8601WithMilliseconds: Date.ISO8601FormatStyle { Date.ISO8601FormatStyle(includingFractionalSeconds: true) }
}
