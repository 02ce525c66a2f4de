extension JobsMigration {
  static func ending(_ schema: String) -> String {
    #"""
    -- Ends runs that succeeded. Returns those that have lost their lease: they end nothing.
    create function \#(schema).job_finish(at timestamptz, ids uuid[], leases bigint[])
    returns table (lost uuid, lost_lease bigint)
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
    declare
      done uuid[];
      done_leases bigint[];
      stepped uuid[];
    begin
      with mine as (
        select j.id from \#(schema).job j join unnest(ids, leases) as r(id, lease) on j.id = r.id
        where j.run_lease = r.lease and j.holder is not null and j.due_at > at
        order by j.id
        for update of j
      ), gone as (
        delete from \#(schema).job j using mine where j.id = mine.id returning j.id, j.run_lease, j.steps
      )
      select array_agg(gone.id), array_agg(gone.run_lease), array_agg(gone.id) filter (where gone.steps > 0)
      into done, done_leases, stepped from gone;
      if stepped is not null then
        delete from \#(schema).job_step s where s.job_id = any(stepped);
      end if;
      if cardinality(done) = cardinality(ids) then
        return;
      end if;
      return query
        select r.id, r.lease from unnest(ids, leases) as r(id, lease)
        where not exists (select from unnest(done, done_leases) as d(id, lease) where d.id = r.id and d.lease = r.lease);
    end $$;

    -- Ends a run that failed: the job waits until `again`, or is dead when that is null. Says 'waits', 'dead' or 'lost'.
    create function \#(schema).job_fail(at timestamptz, job uuid, lease bigint, again timestamptz, why text, error text)
    returns text
    language plpgsql volatile
    as $$
    begin
      if again is not null then
        update \#(schema).job j set holder = null, started_at = null, due_at = again, last_error = error
          where j.id = job and j.run_lease = lease and j.holder is not null and j.due_at > at;
        return case when found then 'waits' else 'lost' end;
      end if;
      with gone as (
        delete from \#(schema).job j
        where j.id = job and j.run_lease = lease and j.holder is not null and j.due_at > at
        returning j.*
      )
      insert into \#(schema).dead_job (
        id, queue, kind, version, priority, unique_key, user_id, payload, attempt, max_attempts, run_lease, enqueued_at, steps,
        progress_done, progress_total, progress_note, died_at, reason, last_error)
      select gone.id, gone.queue, gone.kind, gone.version, gone.priority, gone.unique_key, gone.user_id, gone.payload,
        gone.attempt, gone.max_attempts, gone.run_lease, gone.enqueued_at, gone.steps, gone.progress_done, gone.progress_total,
        gone.progress_note, at, why, coalesce(nullif(error, ''), gone.last_error, '')
      from gone;
      return case when found then 'dead' else 'lost' end;
    end $$;

    -- Gives runs back unfinished, as if they had not been claimed. Returns how many.
    create function \#(schema).job_give_back(at timestamptz, ids uuid[], leases bigint[]) returns integer
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
    declare
      queues text[];
    begin
      with mine as (
        select j.id from \#(schema).job j join unnest(ids, leases) as r(id, lease) on j.id = r.id
        where j.run_lease = r.lease and j.holder is not null and j.due_at > at
        order by j.id
        for no key update of j
      ), back as (
        update \#(schema).job j set holder = null, started_at = null, due_at = at, attempt = j.attempt - 1
        from mine where j.id = mine.id returning j.queue
      )
      select array_agg(back.queue) into queues from back;
      perform pg_notify('\#(channel(schema))', q.name) from (select distinct unnest(queues) as name) as q;
      return coalesce(cardinality(queues), 0);
    end $$;
    """#
  }

  static func steps(_ schema: String) -> String {
    #"""
    -- Keeps what a step came to. Says whether the run still had its lease; without it nothing is kept.
    create function \#(schema).job_checkpoint(at timestamptz, job uuid, lease bigint, step text, outcome bytea) returns boolean
    language plpgsql volatile
    as $$
    begin
      if not \#(schema).job_fence(at, job, lease) then
        return false;
      end if;
      insert into \#(schema).job_step (job_id, name, result, finished_at) values (job, step, outcome, at)
        on conflict (job_id, name) do nothing;
      if found then
        update \#(schema).job j set steps = j.steps + 1 where j.id = job;
      end if;
      return true;
    end $$;
    """#
  }
}
