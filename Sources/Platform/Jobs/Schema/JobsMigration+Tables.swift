extension JobsMigration {
  static func tables(_ schema: String) -> String {
    #"""
    -- What is to be done and what is being done. A finished job is deleted.
    create table \#(schema).job (
      id uuid primary key,
      queue text collate "C" not null,
      kind text collate "C" not null,
      version integer not null,
      priority smallint not null check (priority between 0 and 3),
      unique_key text collate "C",
      user_id uuid,
      payload bytea not null,
      attempt integer not null default 0,
      max_attempts integer not null check (max_attempts > 0),
      run_lease bigint not null default 0,
      holder text,
      due_at timestamptz not null,
      enqueued_at timestamptz not null,
      started_at timestamptz,
      steps integer not null default 0,
      progress_done bigint not null default 0,
      progress_total bigint not null default 0,
      progress_note text not null default '',
      last_error text,
      check ((holder is null) = (started_at is null))
    ) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
    create index job_due on \#(schema).job (queue, priority, due_at);
    create unique index job_unique_key on \#(schema).job (kind, unique_key) where unique_key is not null;
    create index job_user_id on \#(schema).job (user_id) where user_id is not null;
    comment on table \#(schema).job is 'Jobs that wait or run.';
    comment on column \#(schema).job.due_at is 'While it waits: when it may be claimed. While it runs: until when its lease holds.';
    comment on column \#(schema).job.run_lease is 'Counts the claims: every write of a run names its own.';
    comment on column \#(schema).job.holder is 'The worker that runs it; null while it waits.';
    comment on column \#(schema).job.priority is '0 is claimed first.';
    comment on column \#(schema).job.steps is 'How many rows of job_step it has.';

    create table \#(schema).job_step (
      job_id uuid not null,
      name text collate "C" not null,
      result bytea not null,
      finished_at timestamptz not null,
      primary key (job_id, name)
    );
    comment on table \#(schema).job_step is 'What steps of live and dead jobs came to: a finished step is never done again.';

    create table \#(schema).dead_job (
      id uuid primary key,
      queue text collate "C" not null,
      kind text collate "C" not null,
      version integer not null,
      priority smallint not null,
      unique_key text collate "C",
      user_id uuid,
      payload bytea not null,
      attempt integer not null,
      max_attempts integer not null,
      run_lease bigint not null,
      enqueued_at timestamptz not null,
      steps integer not null,
      progress_done bigint not null,
      progress_total bigint not null,
      progress_note text not null,
      died_at timestamptz not null,
      reason text collate "C" not null,
      last_error text not null
    );
    create index dead_job_died_at on \#(schema).dead_job (died_at, id);
    create index dead_job_user_id on \#(schema).dead_job (user_id) where user_id is not null;
    comment on table \#(schema).dead_job is 'Jobs that are not tried again by themselves, until an operator says so or they are purged.';
    comment on column \#(schema).dead_job.reason is 'permanent, exhausted, timed_out, crashed: why nobody tries again.';

    create table \#(schema).job_queue (
      name text collate "C" primary key,
      paused_at timestamptz not null,
      paused_by text not null
    );
    comment on table \#(schema).job_queue is 'Queues that are paused. Others have no row.';
    """#
  }
}
