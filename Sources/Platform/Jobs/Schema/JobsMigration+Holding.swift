extension JobsMigration {
  /// The second form of the queue: jobs of a kind that no worker has ever handled are held until one does, and none starves
  /// behind those that go first.
  ///
  /// What is held is out of the way of claims, however many there are, and spends no attempt. The functions keep their parameters, so
  /// copies of the program before go on beside it.
  ///
  /// - Parameters:
  ///   - schema: The schema of the service.
  ///   - role: The role that serves.
  public static func hold(schema: StaticString, role: StaticString) -> String {
    let (schema, role) = ("\(schema)", "\(role)")
    return [heldJobs(schema, role), heldEnqueueing(schema), heldClaiming(schema), heldStatistics(schema)].joined(separator: "\n")
  }

  private static func heldJobs(_ schema: String, _ role: String) -> String {
    #"""
    create table \#(schema).job_taker (
      kind text collate "C" primary key,
      since timestamptz not null
    );
    comment on table \#(schema).job_taker is 'The kinds of job that a worker has had a handler for. Jobs of others are held.';
    -- What is there already was enqueued by a program that handles it.
    alter table \#(schema).job add column held boolean not null default false;
    comment on column \#(schema).job.held is 'No worker has ever handled its kind.';
    drop index \#(schema).job_due;
    create index job_due on \#(schema).job (queue, priority, due_at) where not held;
    create index job_held on \#(schema).job (queue, kind, due_at) where held;
    do $$
    begin
      if exists (select from pg_roles where rolname = '\#(role)') then
        grant select, insert, update, delete on \#(schema).job_taker to \#(role);
      end if;
    end $$;
    """#
  }

  private static func heldEnqueueing(_ schema: String) -> String {
    #"""
    -- Adds jobs, in the caller's transaction; those that nobody can take yet are held. Returns those that exist already, by kind
    -- and unique key: the proposed id with the id of the live one. All others are new.
    create or replace function \#(schema).job_enqueue(
      at timestamptz, ids uuid[], queues text[], kinds text[], versions integer[], priorities smallint[], unique_keys text[],
      user_ids uuid[], payloads bytea[], attempts integer[], due timestamptz[]
    ) returns table (proposed uuid, existing uuid)
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
    #variable_conflict use_column
    declare
      taken_kinds text[] := array(select t.kind from \#(schema).job_taker t where t.kind = any(kinds));
      added integer;
      missing record;
    begin
      insert into \#(schema).job
        (id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, due_at, enqueued_at, held)
      select i.id, i.queue, i.kind, i.version, i.priority, nullif(i.unique_key, ''),
        nullif(i.user_id, '00000000-0000-0000-0000-000000000000'), i.payload, i.attempts, i.due, at, i.kind <> all(taken_kinds)
      from unnest(ids, queues, kinds, versions, priorities, unique_keys, user_ids, payloads, attempts, due)
        with ordinality as i(id, queue, kind, version, priority, unique_key, user_id, payload, attempts, due, place)
      -- In one order for all, so that no two transactions wait for each other's keys.
      order by i.kind, i.unique_key, i.place
      on conflict (kind, unique_key) where unique_key is not null do nothing;
      get diagnostics added = row_count;

      if added < cardinality(ids) then
        for missing in
          select i.* from unnest(ids, queues, kinds, versions, priorities, unique_keys, user_ids, payloads, attempts, due)
            as i(id, queue, kind, version, priority, unique_key, user_id, payload, attempts, due)
          where not exists (select from \#(schema).job j where j.id = i.id)
          order by i.kind, i.unique_key
        loop
          -- The live one may end at any moment; then this one is new after all.
          loop
            select j.id into existing from \#(schema).job j
              where j.kind = missing.kind and j.unique_key = missing.unique_key;
            if found then
              proposed := missing.id;
              return next;
              exit;
            end if;
            insert into \#(schema).job
              (id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, due_at, enqueued_at, held)
            values (missing.id, missing.queue, missing.kind, missing.version, missing.priority, missing.unique_key,
              nullif(missing.user_id, '00000000-0000-0000-0000-000000000000'), missing.payload, missing.attempts, missing.due, at,
              missing.kind <> all(taken_kinds))
            on conflict (kind, unique_key) where unique_key is not null do nothing;
            exit when found;
          end loop;
        end loop;
      end if;

      -- Also of those that are held: their taker may have come while this transaction was open.
      perform pg_notify('\#(channel(schema))', ready.queue)
      from (select distinct i.queue from unnest(queues, due) as i(queue, due) where i.due <= at) as ready;
    end $$;
    """#
  }

  private static func heldClaiming(_ schema: String) -> String {
    #"""
    -- Leases what is due by a moment and has a priority.
    create function \#(schema).job_take(
      at timestamptz, until timestamptz, worker text, wanted_queue text, known_kinds text[], level integer, due_by timestamptz,
      most integer
    ) returns table (
      id uuid, kind text, version integer, payload bytea, user_id uuid, attempt integer, max_attempts integer, run_lease bigint,
      enqueued_at timestamptz, was_due_at timestamptz, steps integer
    )
    language plpgsql volatile
    as $$
    #variable_conflict use_column
    begin
      return query
        with picked as (
          select j.id, j.due_at from \#(schema).job j
          where j.queue = wanted_queue and j.priority = level and j.due_at <= due_by and not j.held and j.kind = any(known_kinds)
          order by j.due_at
          limit most
          for no key update skip locked
        )
        update \#(schema).job j
        set run_lease = j.run_lease + 1, attempt = j.attempt + 1, holder = worker, started_at = at, due_at = until
        from picked where j.id = picked.id
        returning j.id, j.kind, j.version, j.payload, j.user_id, j.attempt, j.max_attempts, j.run_lease, j.enqueued_at,
          picked.due_at, j.steps;
    end $$;

    -- Takes what is due, the first priority first, and leases it. A job whose last run never ended comes back when its lease is
    -- over, also with one attempt more than it may have: its new holder then buries it. Whoever claims is the taker of the kinds
    -- that it knows: what was held of them in this queue is let go, some at a time, and is due from now.
    create function \#(schema).job_claim_due(
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
      ticks bigint := extract(epoch from at) * 1000000;
      aged integer;
      taken integer;
      rest integer := most;
    begin
      if (select count(*) from \#(schema).job_taker t where t.kind = any(known_kinds)) < cardinality(known_kinds) then
        insert into \#(schema).job_taker (kind, since)
          select distinct k.kind, at from unnest(known_kinds) as k(kind) order by k.kind on conflict do nothing;
      end if;
      with released as (
        select j.id from \#(schema).job j
        where j.held and j.queue = wanted_queue and j.kind = any(known_kinds)
        limit greatest(most, 256)
        for no key update skip locked
      )
      update \#(schema).job j set held = false, due_at = greatest(j.due_at, at) from released where j.id = released.id;
      if exists (select from \#(schema).job_queue q where q.name = wanted_queue) then
        return;
      end if;
      -- A quarter of the room goes first to whatever has waited for ten minutes behind others, the lower priorities in turns; of
      -- a room smaller than four, one claim in four. So none waits for ever, and none waits for all that is old.
      aged := case when most >= 4 then most / 4 when ticks % 4 = 1 then 1 else 0 end;
      for turn in 0..2 loop
        exit when aged <= 0;
        return query select * from \#(schema).job_take(
          at, until, worker, wanted_queue, known_kinds, (1 + (ticks / 4 + turn) % 3)::integer, at - interval '10 minutes', aged);
        get diagnostics taken = row_count;
        aged := aged - taken;
        rest := rest - taken;
      end loop;
      for level in 0..3 loop
        exit when rest <= 0;
        return query select * from \#(schema).job_take(at, until, worker, wanted_queue, known_kinds, level, at, rest);
        get diagnostics taken = row_count;
        rest := rest - taken;
      end loop;
    end $$;

    -- Claims, where there is something to claim. An idle worker asks again and again: it is told so by a few looks into indexes, and
    -- without planner settings of the function's own, which cost more than the looks. Each look is for the first row in the order of an
    -- index, so that no plan for it reads the table, whatever is known of that when the plan is made.
    create or replace function \#(schema).job_claim(
      at timestamptz, until timestamptz, worker text, wanted_queue text, known_kinds text[], most integer
    ) returns table (
      id uuid, kind text, version integer, payload bytea, user_id uuid, attempt integer, max_attempts integer, run_lease bigint,
      enqueued_at timestamptz, was_due_at timestamptz, steps integer
    )
    language plpgsql volatile
    as $$
    #variable_conflict use_column
    begin
      if exists (
          select from unnest('{0,1,2,3}'::smallint[]) as level, lateral (
            select j.due_at from \#(schema).job j
            where j.queue = wanted_queue and j.priority = level and not j.held and j.kind = any(known_kinds)
            order by j.due_at limit 1) as first
          where first.due_at <= at)
        or exists (
          select from unnest(known_kinds) as known, lateral (
            select j.due_at from \#(schema).job j where j.held and j.queue = wanted_queue and j.kind = known
            order by j.due_at limit 1) as first)
        or (select count(*) from \#(schema).job_taker t where t.kind = any(known_kinds)) < cardinality(known_kinds)
      then
        return query select * from \#(schema).job_claim_due(at, until, worker, wanted_queue, known_kinds, most);
      end if;
    end $$;
    """#
  }

  private static func heldStatistics(_ schema: String) -> String {
    #"""
    -- What each queue holds: how many jobs are ready, scheduled, running and dead, and since when the oldest ready one is due. A
    -- job whose lease is over counts as ready: nobody runs it. One that is held counts as none of these.
    create or replace function \#(schema).job_statistics(at timestamptz) returns table (
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
        from \#(schema).job j where not j.held group by j.queue
      ) as live on live.queue = names.queue
      left join (select d.queue, count(*) from \#(schema).dead_job d group by d.queue) as dead on dead.queue = names.queue
      order by names.queue
    $$;

    -- How many jobs of each kind are held, in which queue.
    create function \#(schema).job_held() returns table (queue text, kind text, held bigint)
    language sql stable
    as $$
      select j.queue, j.kind, count(*) from \#(schema).job j where j.held group by j.queue, j.kind order by j.queue, j.kind
    $$;
    """#
  }
}
