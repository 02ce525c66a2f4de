/// How a step is answered, by the names that apps use.
public enum StepType: String, Sendable, Hashable, CaseIterable {
  /// Spoken.
  case voice
  /// Typed.
  case text
  /// One of several.
  case choice
  /// Two sliders from 1 to 10.
  case dualSliders = "dual_sliders"
  /// A window of half an hour in the evening.
  case timeWindowPicker = "time_window_picker"
  /// A time of day.
  case timePicker = "time_picker"
  /// Something that is held down for a while.
  case longPressActivate = "long_press_activate"
  /// A time zone.
  case timezoneSelection = "timezone_selection"
  /// Something to read; it has no answer.
  case explanation
  /// A picture of what was promised; it has no answer.
  case visualCommitmentSummary = "visual_commitment_summary"

  /// Whether there is an answer to keep.
  public var takesAnswer: Bool { self != .explanation && self != .visualCommitmentSummary }
}
