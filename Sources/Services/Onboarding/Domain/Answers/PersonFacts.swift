/// What the answers say of a person that other parts of the product go by.
public struct PersonFacts: Sendable, Hashable {
  /// What the person is called; `User` where nobody said.
  public var name: String
  /// The person's zone, an IANA identifier; `UTC` where nobody said.
  public var zone: String
  /// When the person is to be called.
  public var window: CallWindow?

  /// The facts in a record of answers.
  ///
  /// - Parameters:
  ///   - answers: All of them.
  ///   - name: What the record itself says, which goes first.
  ///   - callTime: The same of the window.
  ///   - zone: The same of the zone.
  ///   - deviceZone: The zone of the device, which goes last.
  ///   - isZone: Whether an identifier names a zone.
  public init(
    _ answers: [ReceivedAnswer], name: String?, callTime: String?, zone: String?, deviceZone: String? = nil,
    isZone: (String) -> Bool
  ) {
    func text(of field: String) -> String? {
      guard let answer = answers.first(where: { $0.fields.contains(field) }), case .text(let text) = answer.content else {
        return nil
      }
      return text
    }
    let names = [name, text(of: "identity_name")].lazy.compactMap {
      $0?.trimmed.prefix(characters: Self.longestName, bytes: SubmissionLimits.nameBytes)
    }
    self.name = names.first { !$0.isEmpty } ?? "User"
    let selected = answers.first { $0.type == StepType.timezoneSelection.rawValue }
    var zones = [zone]
    if case .text(let text) = selected?.content { zones.append(text) }
    zones.append(deviceZone)
    self.zone = zones.compactMap { $0 }.first(where: isZone) ?? "UTC"
    window = [text(of: "evening_call_time"), callTime].compactMap { $0 }.lazy.compactMap(CallWindow.init).first
  }

  /// The most characters of a name.
  public static let longestName = 100
}

/// A window of the day, in wall time: it may go past midnight.
public struct CallWindow: Sendable, Hashable {
  /// Its beginning, in minutes after midnight, 0 to 1,439.
  public let start: Int
  /// How long it is, in minutes, 1 to 1,439.
  public let minutes: Int

  /// How long a window is whose end nobody said.
  public static let ordinaryLength = 30

  /// Reads `20:30-21:00`, or `20:30` for half an hour; nil for anything else.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), let start = Self.minute(parts[0]) else { return nil }
    self.start = start
    guard parts.count == 2 else {
      minutes = Self.ordinaryLength
      return
    }
    guard let end = Self.minute(parts[1]), end != start else { return nil }
    minutes = (end - start + 1_440) % 1_440
  }

  /// A window that was kept; nil where none was.
  public init?(start: Int?, minutes: Int?) {
    guard let start, let minutes else { return nil }
    self.start = start
    self.minutes = minutes
  }

  /// The window as apps write it: `20:30-21:00`.
  public var text: String { Self.time(start) + "-" + Self.time((start + minutes) % 1_440) }

  private static func time(_ minute: Int) -> String {
    [minute / 60, minute % 60].map { ($0 < 10 ? "0" : "") + "\($0)" }.joined(separator: ":")
  }

  private static func minute(_ text: Substring) -> Int? {
    let parts = String(text).trimmed.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }), let hour = Int(parts[0]),
      let minute = Int(parts[1]), hour < 24, minute < 60
    else { return nil }
    return hour * 60 + minute
  }
}

extension String {
  /// Without the blanks and line breaks at both ends.
  var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }
}
