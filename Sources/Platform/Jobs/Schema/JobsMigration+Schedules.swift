extension JobsMigration {
  /// The third form of the queue: jobs that come again and again (``JobSchedule``). A service without any needs it not.
  ///
  /// - Parameters:
  ///   - schema: The schema of the service.
  ///   - role: The role that serves.
  public static func schedules(schema: StaticString, role: StaticString) -> String {
    let (schema, role) = ("\(schema)", "\(role)")
    return #"""
      create table \#(schema).job_schedule (
        name text collate "C" primary key,
        settled_until timestamptz not null
      );
      comment on table \#(schema).job_schedule is 'Until when the occurrences of each schedule are enqueued or given up.';

      -- The moments at which clocks of a place show a time: one as a rule, two when they are set back over it. When they are set
      -- forward over it there is none: then it is the first moment after the gap, and `is_gap`.
      create function \#(schema).job_moments(walls timestamp[], zone text)
      returns table (wall timestamp, moments timestamptz[], is_gap boolean)
      language sql stable
      as $$
        select w.wall, coalesce(shown.moments, array[after.moment]), shown.moments is null
        from unnest(walls) with ordinality as w(wall, place)
        cross join lateral (
          -- By the offset of the day before and by that of the day after.
          select min(c.moment) as early, max(c.moment) as late,
            array_agg(distinct c.moment order by c.moment) filter (where c.moment at time zone zone = w.wall) as moments
          from (
            select (w.wall at time zone 'UTC') - ((p.probe at time zone zone) - (p.probe at time zone 'UTC')) as moment
            from unnest(array[(w.wall at time zone 'UTC') - interval '1 day', (w.wall at time zone 'UTC') + interval '1 day'])
              as p(probe)
          ) as c
        ) as shown
        left join lateral (
          select min(m.moment) as moment from generate_series(shown.early, shown.late, interval '1 minute') as m(moment)
          where shown.moments is null and m.moment at time zone zone > w.wall
        ) as after on true
        order by w.place
      $$;
      do $$
      begin
        if exists (select from pg_roles where rolname = '\#(role)') then
          grant select, insert, update, delete on \#(schema).job_schedule to \#(role);
        end if;
      end $$;
      """#
  }
}
