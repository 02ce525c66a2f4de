extension JobsMigration {
  static func running(_ schema: String) -> String {
    #"""
    -- Takes what is due, the first priority first, and leases it. A job whose last run never ended comes back when its lease is
    -- over, also with one attempt more than it may have: its new holder then buries it.
    create function \#(schema).job_claim(
      at timestamptz, until timestamptz, worker text, wanted_queue text, known_kinds text[], most integer
    ) returns table (
      id uuid, kind text, version integer, payload bytea, user_id uuid, attempt integer, max_attempts integer, run_lease bigint,
      enqueued_at timestamptz, was_due_at timestamptz, steps integer
    )
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
    as $$
    #variable_conflict use_column
    declare
      taken integer;
      rest integer := most;
    begin
      if exists (select from \#(schema).job_queue q where q.name = wanted_queue) then
        return;
      end if;
      for level in 0..3 loop
        return query
          with picked as (
            select j.id, j.due_at from \#(schema).job j
            where j.queue = wanted_queue and j.priority = level and j.due_at <= at and j.kind = any(known_kinds)
            order by j.due_at
            limit rest
            for no key update skip locked
          )
          update \#(schema).job j
          set run_lease = j.run_lease + 1, attempt = j.attempt + 1, holder = worker, started_at = at, due_at = until
          from picked where j.id = picked.id
          returning j.id, j.kind, j.version, j.payload, j.user_id, j.attempt, j.max_attempts, j.run_lease, j.enqueued_at,
            picked.due_at, j.steps;
        get diagnostics taken = row_count;
        rest := rest - taken;
        exit when rest <= 0;
      end loop;
    end $$;

    -- Prolongs leases. Returns the runs that have lost theirs. A row that the run's own transaction has locked is left alone.
    create function \#(schema).job_heartbeat(at timestamptz, until timestamptz, ids uuid[], leases bigint[])
    returns table (lost uuid, lost_lease bigint)
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
    begin
      with mine as (
        select j.id from \#(schema).job j join unnest(ids, leases) as r(id, lease) on j.id = r.id
        where j.run_lease = r.lease and j.holder is not null and j.due_at > at
        order by j.id
        for no key update of j skip locked
      )
      update \#(schema).job j set due_at = until from mine where j.id = mine.id;
      return query
        select r.id, r.lease from unnest(ids, leases) as r(id, lease)
        where not exists (
          select from \#(schema).job j
          where j.id = r.id and j.run_lease = r.lease and j.holder is not null and j.due_at > at
        );
    end $$;

    -- Whether a run still has its lease. If so, nobody else can get the job until the caller's transaction ends.
    create function \#(schema).job_fence(at timestamptz, job uuid, lease bigint) returns boolean
    language plpgsql volatile
    as $$
    begin
      perform from \#(schema).job j
        where j.id = job and j.run_lease = lease and j.holder is not null and j.due_at > at
        for no key update;
      return found;
    end $$;

    -- The same for whoever cannot ask first: the transaction fails where the run has lost its lease.
    create function \#(schema).job_hold(at timestamptz, job uuid, lease bigint) returns void
    language plpgsql volatile
    as $$
    begin
      if not \#(schema).job_fence(at, job, lease) then
        raise exception 'the run of job % has lost its lease', job using errcode = 'PJ001';
      end if;
    end $$;

    create function \#(schema).job_progress(at timestamptz, job uuid, lease bigint, done bigint, total bigint, note text)
    returns boolean
    language plpgsql volatile
    as $$
    begin
      update \#(schema).job j set progress_done = done, progress_total = total, progress_note = note
        where j.id = job and j.run_lease = lease and j.holder is not null and j.due_at > at;
      return found;
    end $$;
    """#
  }
}
