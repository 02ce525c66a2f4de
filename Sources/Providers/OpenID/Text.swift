extension StringProtocol {
  /// The text without blanks and tabs around it.
  package var trimmed: Substring {
    let isBlank = { (character: Character) in character == " " || character == "\t" }
    var rest = Substring(self).drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest = rest.dropLast() }
    return rest
  }
}
