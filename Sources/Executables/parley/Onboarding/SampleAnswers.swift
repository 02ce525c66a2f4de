import ArgumentParser
import ClientCore
import Foundation
import JSON
import ParleyAPI

/// Answers to all steps of a catalogue, to try a push with.
struct SampleAnswers {
  /// Files to take recordings from, in order and over again; tones without any.
  let recordings: [URL]

  /// The recordings in a folder, by name.
  ///
  /// - Throws: `ValidationError` when the folder cannot be read or has none.
  init(folder: String?) throws {
    guard let folder else {
      recordings = []
      return
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw ValidationError("'\(folder)' cannot be read as a folder.")
    }
    recordings = names.sorted().map { URL(filePath: folder).appending(path: $0) }
      .filter { DataURL.mediaType(ofFormat: $0.pathExtension) != nil }
    guard !recordings.isEmpty else { throw ValidationError("'\(folder)' has no recordings: m4a, mp3, wav, webm.") }
  }

  /// A complete record: each step that takes an answer has one, and recordings are as long as their step asks for.
  ///
  /// Files are taken as they are: how long one is only a WAV says, and the service reads it in any.
  func record(_ steps: [OnboardingStep]) throws -> StoredOnboardingData {
    var data = StoredOnboardingData(timezone: TimeZone.current.identifier)
    let limits = RecordingLimits(steps)
    var spoken = 0
    for step in steps {
      let number = Int(step.number)
      data.currentStep = max(data.currentStep, number)
      guard var answer = try answer(step, limits, &spoken) else { continue }
      answer.dbField = step.dbFields
      data.answer(number, answer)
    }
    return data.completed()
  }

  private func answer(
    _ step: OnboardingStep, _ limits: RecordingLimits, _ spoken: inout Int
  ) throws -> OnboardingResponseData? {
    let minimum = limits.minimum(of: Int(step.number))
    switch step.type {
    case "explanation": return nil
    case "voice":
      defer { spoken += 1 }
      return try recording(step, minimum, number: spoken)
    case "choice": return .choice(step.options.first ?? "other")
    case "dual_sliders":
      var answer = OnboardingResponseData(type: step.type, value: "7,9")
      answer.sliders = [7, 9]
      return answer
    case "time_window_picker": return OnboardingResponseData(type: step.type, value: "20:30-21:00")
    case "time_picker": return OnboardingResponseData(type: step.type, value: "20:30")
    case "timezone_selection": return OnboardingResponseData(type: step.type, value: .string(TimeZone.current.identifier))
    case "long_press_activate":
      var answer = OnboardingResponseData(type: step.type, value: "true")
      answer.duration = minimum
      return answer
    default: return .text(Self.texts[step.dbFields.first ?? ""] ?? "An answer about \(step.topic).")
    }
  }

  private func recording(_ step: OnboardingStep, _ minimum: Double, number: Int) throws -> OnboardingResponseData {
    var answer: OnboardingResponseData
    if recordings.isEmpty {
      // Each of its own, so that none is taken for another one.
      let tone = WAVTone.bytes(seconds: minimum, frequency: 220 + 20 * Double(number))
      answer = OnboardingResponseData(type: step.type, value: .string(DataURL(mediaType: "audio/wav", bytes: tone).text))
      (answer.duration, answer.audioFileSize, answer.audioFormat) = (minimum, tone.count, "wav")
      return answer
    }
    let file = recordings[number % recordings.count]
    guard let bytes = try? Data(contentsOf: file), let type = DataURL.mediaType(ofFormat: file.pathExtension) else {
      throw ValidationError("'\(file.path)' cannot be read.")
    }
    answer = OnboardingResponseData(type: step.type, value: .string(DataURL(mediaType: type, bytes: [UInt8](bytes)).text))
    answer.duration = WAVTone.duration(of: [UInt8](bytes))
    if let length = answer.duration, length < minimum {
      throw ValidationError("'\(file.path)' is shorter than the \(minimum.formatted()) s that step \(step.number) asks for.")
    }
    (answer.audioFileSize, answer.audioFormat) = (bytes.count, file.pathExtension.lowercased())
    return answer
  }

  private static let texts = [
    "identity_name": "Ana", "quit_counter": "12", "daily_non_negotiable": "Walk for thirty minutes", "commitment_time": "06:30",
    "success_metric": "30 walks", "transformation_date": "2027-06-01", "streak_target": "30", "external_judge": "Bo",
    "weakness_window": "Late in the evening, at home",
  ]
}
