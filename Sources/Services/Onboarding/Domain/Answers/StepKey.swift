/// The keys that answers come under: `12` and `step_12`.
public enum StepKey {
  /// The steps that answers may name. The catalogue may know fewer: an answer to a step that it does not know is kept all the same.
  public static let range = 1...99

  /// The step of a key; nil for anything else.
  public static func step(_ key: String) -> Int? {
    let digits = key.hasPrefix("step_") ? key.dropFirst(5) : key[...]
    guard (1...2).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let step = Int(digits),
      range.contains(step)
    else { return nil }
    return step
  }
}
