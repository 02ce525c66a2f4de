extension JobsMigration {
  /// The channel on which workers of a schema hear of jobs.
  static func channel(_ schema: String) -> String { "parley_jobs_\(schema)" }

  static func enqueueing(_ schema: String) -> String {
    #"""
    -- Adds jobs, in the caller's transaction. Returns those that exist already, by kind and unique key: the proposed id with the
    -- id of the live one. All others are new.
    create function \#(schema).job_enqueue(
      at timestamptz, ids uuid[], queues text[], kinds text[], versions integer[], priorities smallint[], unique_keys text[],
      user_ids uuid[], payloads bytea[], attempts integer[], due timestamptz[]
    ) returns table (proposed uuid, existing uuid)
    language plpgsql volatile
    set enable_seqscan = off set enable_bitmapscan = off
    as $$
    #variable_conflict use_column
    declare
      added integer;
      missing record;
    begin
      insert into \#(schema).job (id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, due_at, enqueued_at)
      select i.id, i.queue, i.kind, i.version, i.priority, nullif(i.unique_key, ''),
        nullif(i.user_id, '00000000-0000-0000-0000-000000000000'), i.payload, i.attempts, i.due, at
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
              (id, queue, kind, version, priority, unique_key, user_id, payload, max_attempts, due_at, enqueued_at)
            values (missing.id, missing.queue, missing.kind, missing.version, missing.priority, missing.unique_key,
              nullif(missing.user_id, '00000000-0000-0000-0000-000000000000'), missing.payload, missing.attempts, missing.due, at)
            on conflict (kind, unique_key) where unique_key is not null do nothing;
            exit when found;
          end loop;
        end loop;
      end if;

      perform pg_notify('\#(channel(schema))', ready.queue)
      from (select distinct i.queue from unnest(queues, due) as i(queue, due) where i.due <= at) as ready;
    end $$;
    """#
  }
}
