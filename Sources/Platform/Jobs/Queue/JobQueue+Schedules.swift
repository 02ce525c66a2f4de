internal import PostgreSQL
internal import Values

extension JobQueue {
  /// How many times of a pattern are looked at by one statement.
  private static let batch = 512
  /// Clocks are not set by more than this, in minutes.
  private static let longestShift: Int64 = 180

  /// Enqueues the latest occurrence of a schedule that is due and has not been, if there is one.
  ///
  /// - Returns: When to ask again: the next occurrence; nil when there is none.
  func enqueueDue(_ schedule: JobSchedule) async throws -> Instant? {
    let now = now()
    return try await database.transaction { transaction in
      try await transaction.execute(
        """
        insert into \(fragment: schema).job_schedule (name, settled_until) values (\(schedule.name), \(now)) on conflict do nothing
        """)
      let earliest = now.advanced(by: .zero - schedule.catchUp)
      let row: (Instant, Int64)? = try await transaction.row(
        """
        select settled_until,
          floor(extract(epoch from greatest(settled_until, \(earliest)) at time zone \(schedule.zone)::text) / 60)::bigint
        from \(fragment: schema).job_schedule where name = \(schedule.name) for update
        """)
      guard let (settled, wall) = row else { return nil }
      let from = max(settled, earliest.advanced(by: .microseconds(-1)))
      let (due, next) = try await occurrences(of: schedule, after: from, around: now, wall: wall, in: transaction)
      if let due { try await enqueue([schedule.job(due)], in: transaction) }
      if now > settled {
        try await transaction.execute(
          "update \(fragment: schema).job_schedule set settled_until = \(now) where name = \(schedule.name)")
      }
      return next
    }
  }

  /// The latest occurrence after one moment and up to another, and the first one after that.
  private func occurrences(
    of schedule: JobSchedule, after from: Instant, around now: Instant, wall: Int64, in transaction: Transaction
  ) async throws -> (due: Instant?, next: Instant?) {
    var due: Instant?
    var start = wall - Self.longestShift
    while true {
      let times = schedule.pattern.times(from: start, atMost: Self.batch)
      let rows: [([Instant], Bool)] = try await transaction.rows(
        """
        select m.moments, m.is_gap from \(fragment: schema).job_moments(
          array(select to_timestamp(t * 60) at time zone 'UTC' from unnest(\(times)::bigint[]) with ordinality as w(t, place) order by place),
          \(schedule.zone)::text) as m
        """)
      var next: Instant?
      for (shown, isGap) in rows {
        for moment in schedule.moments(shown, isGap: isGap) {
          if moment > now {
            next = min(next ?? moment, moment)
          } else if moment > from {
            due = max(due ?? moment, moment)
          }
        }
      }
      if next != nil || times.count < Self.batch { return (due, next) }
      start = (times.last ?? start) + 1
    }
  }
}
