extension JobsMigration {
  static func administration(_ schema: String) -> String {
    #"""
    -- Lets a dead job live again with all its attempts, or a waiting one run at once; with another payload, if one is given.
    -- Says 'retried', 'running', 'missing' or 'taken': another live job has its unique key.
    create function \#(schema).job_retry(at timestamptz, job uuid, other_payload bytea) returns text
    language plpgsql volatile
    as $$
    declare
      target text;
      is_running boolean;
    begin
      select j.queue, j.holder is not null into target, is_running from \#(schema).job j where j.id = job for no key update;
      if found then
        if is_running then
          return 'running';
        end if;
        update \#(schema).job j set due_at = at, payload = coalesce(other_payload, j.payload) where j.id = job;
      else
        perform from \#(schema).dead_job d where d.id = job for update;
        if not found then
          return 'missing';
        end if;
        insert into \#(schema).job (
          id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, run_lease, due_at, enqueued_at, steps,
          progress_done, progress_total, progress_note, last_error)
        select d.id, d.queue, d.kind, d.version, d.priority, d.unique_key, d.user_id, coalesce(other_payload, d.payload),
          d.max_attempts, d.run_lease, at, d.enqueued_at, d.steps, d.progress_done, d.progress_total, d.progress_note,
          d.last_error
        from \#(schema).dead_job d where d.id = job
        on conflict (kind, unique_key) where unique_key is not null do nothing
        returning queue into target;
        if not found then
          return 'taken';
        end if;
        delete from \#(schema).dead_job d where d.id = job;
      end if;
      perform pg_notify('\#(channel(schema))', target);
      return 'retried';
    end $$;

    -- Removes dead jobs that died before a moment, the oldest first, skipping what others have locked. A null is no condition.
    create function \#(schema).job_purge_dead(
      before timestamptz, wanted uuid[], wanted_kind text, wanted_queue text, most integer
    ) returns integer
    language plpgsql volatile
    as $$
    declare
      purged uuid[];
    begin
      with picked as (
        select d.id from \#(schema).dead_job d
        where d.died_at < before and (wanted is null or d.id = any(wanted))
          and (wanted_kind is null or d.kind = wanted_kind) and (wanted_queue is null or d.queue = wanted_queue)
        order by d.died_at, d.id
        limit most
        for update skip locked
      ), gone as (
        delete from \#(schema).dead_job d using picked where d.id = picked.id returning d.id
      )
      select array_agg(gone.id) into purged from gone;
      delete from \#(schema).job_step s where s.job_id = any(purged);
      return coalesce(cardinality(purged), 0);
    end $$;

    -- Removes waiting jobs by their ids, skipping those that run. Returns how many.
    create function \#(schema).job_purge_waiting(wanted uuid[]) returns integer
    language plpgsql volatile
    as $$
    declare
      purged uuid[];
    begin
      with picked as (
        select j.id from \#(schema).job j where j.id = any(wanted) and j.holder is null order by j.id for update skip locked
      ), gone as (
        delete from \#(schema).job j using picked where j.id = picked.id returning j.id
      )
      select array_agg(gone.id) into purged from gone;
      delete from \#(schema).job_step s where s.job_id = any(purged);
      return coalesce(cardinality(purged), 0);
    end $$;

    -- Removes all jobs of a person but one, whatever their state; a run of theirs loses its lease. Returns how many.
    create function \#(schema).job_forget(person uuid, but uuid) returns integer
    language plpgsql volatile
    as $$
    declare
      live uuid[];
      dead uuid[];
    begin
      with picked as (
        select j.id from \#(schema).job j where j.user_id = person and j.id is distinct from but order by j.id for update
      ), gone as (
        delete from \#(schema).job j using picked where j.id = picked.id returning j.id
      )
      select array_agg(gone.id) into live from gone;
      with gone as (
        delete from \#(schema).dead_job d where d.user_id = person and d.id is distinct from but returning d.id
      )
      select array_agg(gone.id) into dead from gone;
      delete from \#(schema).job_step s where s.job_id = any(live || dead);
      return coalesce(cardinality(live), 0) + coalesce(cardinality(dead), 0);
    end $$;

    create function \#(schema).job_pause(at timestamptz, queue text, who text) returns boolean
    language plpgsql volatile
    as $$
    begin
      insert into \#(schema).job_queue (name, paused_at, paused_by) values (queue, at, who) on conflict (name) do nothing;
      return found;
    end $$;

    create function \#(schema).job_resume(queue text) returns boolean
    language plpgsql volatile
    as $$
    begin
      delete from \#(schema).job_queue q where q.name = queue;
      if found then
        perform pg_notify('\#(channel(schema))', queue);
        return true;
      end if;
      return false;
    end $$;
    """#
  }

  static func statistics(_ schema: String) -> String {
    #"""
    -- What each queue holds: how many jobs are ready, scheduled, running and dead, and since when the oldest ready one is due. A
    -- job whose lease is over counts as ready: nobody runs it.
    create function \#(schema).job_statistics(at timestamptz) returns table (
      queue text, ready bigint, scheduled bigint, running bigint, dead bigint, oldest_due_at timestamptz, is_paused boolean
    )
    language sql stable
    as $$
      select names.queue, coalesce(live.ready, 0), coalesce(live.scheduled, 0), coalesce(live.running, 0), coalesce(dead.count, 0),
        live.oldest_due_at, exists (select from \#(schema).job_queue q where q.name = names.queue)
      from (
        select j.queue from \#(schema).job j union select d.queue from \#(schema).dead_job d
        union select q.name from \#(schema).job_queue q
      ) as names
      left join (
        select j.queue, count(*) filter (where j.due_at <= at) as ready,
          count(*) filter (where j.due_at > at and j.holder is null) as scheduled,
          count(*) filter (where j.due_at > at and j.holder is not null) as running,
          min(j.due_at) filter (where j.due_at <= at) as oldest_due_at
        from \#(schema).job j group by j.queue
      ) as live on live.queue = names.queue
      left join (select d.queue, count(*) from \#(schema).dead_job d group by d.queue) as dead on dead.queue = names.queue
      order by names.queue
    $$;
    """#
  }
}
