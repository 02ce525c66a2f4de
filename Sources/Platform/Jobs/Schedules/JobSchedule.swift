public import Values

/// A job that comes again and again, by the clocks of a place.
///
/// ```swift
/// handlers.schedule(JobSchedule("digest", "30 20 * * *", in: "Europe/Berlin") { at in try Self.digest.job(at) })
/// ```
/// Whichever copy comes first enqueues an occurrence, and only one does. The service lists `JobsMigration.schedules`.
public struct JobSchedule: Sendable {
  /// What becomes of a time that clocks skip when they are set forward.
  public enum Gap: Sendable, Hashable {
    /// It is the first moment after the gap.
    case after
    /// There is none that day.
    case skip
  }

  /// What becomes of a time that clocks show twice when they are set back.
  public enum Overlap: Sendable, Hashable {
    /// The first time counts.
    case first
    /// The second time counts.
    case second
    /// Both do.
    case both
  }

  /// What it is called in the database, `[a-z][a-z0-9._-]*`. Another pattern under the same name goes on from now.
  public let name: String
  /// The IANA name of the place's zone, as the database knows it.
  public let zone: String
  /// What becomes of a time that does not exist.
  public let gap: Gap
  /// What becomes of a time that there is twice.
  public let overlap: Overlap
  /// By how much an occurrence may be late, because no copy ran: the latest one within it is made up for, once. What is older is
  /// given up.
  public let catchUp: Duration
  let pattern: CronPattern
  let job: @Sendable (Instant) throws -> NewJob

  /// A schedule. One that cannot be read is a programmer's mistake.
  ///
  /// - Parameters:
  ///   - name: See ``name``.
  ///   - pattern: Minute, hour, day of the month, month, day of the week, as in cron: `30 20 * * 1-5`.
  ///   - zone: See ``zone``.
  ///   - gap: See ``gap``.
  ///   - overlap: See ``overlap``.
  ///   - catchUp: See ``catchUp``; at most seven days.
  ///   - job: The job of the occurrence at a moment.
  public init(
    _ name: String, _ pattern: String, in zone: String, gap: Gap = .after, overlap: Overlap = .first,
    catchUp: Duration = .seconds(3_600), job: @escaping @Sendable (Instant) throws -> NewJob
  ) {
    guard let parsed = CronPattern(pattern) else { preconditionFailure("the schedule \(name) has no pattern: \(pattern)") }
    precondition(JobName.isValid(name), "names of schedules are [a-z][a-z0-9._-]*")
    precondition(catchUp >= .zero && catchUp <= .seconds(7 * 86_400), "what is missed is made up for within seven days")
    self.name = name
    self.pattern = parsed
    self.zone = zone
    self.gap = gap
    self.overlap = overlap
    self.catchUp = catchUp
    self.job = job
  }

  /// The moments that count of those at which clocks show a time.
  func moments(_ shown: [Instant], isGap: Bool) -> [Instant] {
    if isGap { return gap == .after ? shown : [] }
    switch overlap {
    case .first: return Array(shown.prefix(1))
    case .second: return Array(shown.suffix(1))
    case .both: return shown
    }
  }
}
