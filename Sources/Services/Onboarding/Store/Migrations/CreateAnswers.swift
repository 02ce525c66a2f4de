extension OnboardingMigrations {
  static let createAnswers = #"""
    create table onboarding.answer (
      user_id uuid not null,
      step integer not null check (step between 1 and 99),
      type text collate "C" not null,
      value text,
      recording bytea check (length(recording) = 32),
      fields text[] not null,
      answered_at timestamptz,
      received_at timestamptz not null,
      duration_seconds double precision,
      audio_size bigint,
      audio_format text collate "C" not null,
      voice_uri text not null,
      primary key (user_id, step)
    );
    comment on table onboarding.answer is 'What people have answered, the newest answer to each step.';
    comment on column onboarding.answer.value is 'What was typed or chosen; or what came in the place of a recording and is none.';
    comment on column onboarding.answer.recording is 'SHA-256 of what was said.';
    comment on column onboarding.answer.duration_seconds is 'As the device measured.';

    create table onboarding.recording (
      user_id uuid not null,
      digest bytea not null check (length(digest) = 32),
      size bigint not null check (size > 0),
      format text collate "C" not null,
      media_type text collate "C" not null,
      stage_id uuid,
      stored_at timestamptz,
      duration_ms bigint,
      state text collate "C" not null check (state in ('pending', 'done', 'no_speech', 'too_short', 'failed')),
      transcript text,
      model text not null default '',
      reason text not null default '',
      attempts integer not null default 0,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (user_id, digest),
      check ((state = 'done') = (transcript is not null)),
      check (stage_id is not null or stored_at is not null)
    );
    create index recording_created_at on onboarding.recording (created_at);
    comment on table onboarding.recording is 'What people have said, each content once.';
    comment on column onboarding.recording.stage_id is 'Where the bytes wait until the object store has them.';
    comment on column onboarding.recording.stored_at is 'Since when the object store has them.';
    comment on column onboarding.recording.reason is 'Why it could not be written down, in a word.';

    create table onboarding.staged_bytes (
      user_id uuid not null,
      stage_id uuid not null,
      start bigint not null,
      data bytea not null,
      primary key (user_id, stage_id, start)
    );
    alter table onboarding.staged_bytes alter column data set storage external;
    comment on table onboarding.staged_bytes is 'Recordings on their way: durable here before anybody is told so.';
    comment on column onboarding.staged_bytes.data is 'At most 1 MiB. Compressed audio is not compressed again.';

    create table onboarding.upload (
      user_id uuid not null,
      upload_id text collate "C" not null,
      digest bytea not null check (length(digest) = 32),
      size bigint not null check (size > 0),
      media_type text collate "C" not null,
      received bigint not null,
      stage_id uuid not null,
      completed_at timestamptz,
      touched_at timestamptz not null,
      primary key (user_id, upload_id)
    );
    create index upload_touched_at on onboarding.upload (touched_at);
    comment on table onboarding.upload is 'Recordings that come in pieces.';

    create table onboarding.submission (
      user_id uuid not null,
      id uuid not null,
      number integer not null,
      content_hash bytea not null check (length(content_hash) = 32),
      idempotency_key text collate "C",
      stage text collate "C" not null,
      name text not null,
      zone text not null,
      call_start integer,
      call_minutes integer,
      answers integer not null,
      recordings integer not null,
      device jsonb,
      retry_round integer not null default 0,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      done_at timestamptz,
      primary key (user_id, id)
    );
    create unique index submission_number on onboarding.submission (user_id, number);
    create unique index submission_key on onboarding.submission (user_id, idempotency_key);
    create index submission_running on onboarding.submission (created_at) where done_at is null;
    comment on table onboarding.submission is 'Answers that came all at once, and how far the work on them has come. The newest one of a person counts.';
    comment on column onboarding.submission.number is 'Counts the submissions of a person, from 1.';
    comment on column onboarding.submission.call_start is 'When the person is to be called, in minutes after midnight in the zone.';

    create table onboarding.submission_warning (
      user_id uuid not null,
      submission_id uuid not null,
      step integer not null,
      reason text collate "C" not null,
      message text not null,
      primary key (user_id, submission_id, step, reason)
    );
    comment on table onboarding.submission_warning is 'What did not go well and did not stop the rest.';

    create table onboarding.submission_event (
      user_id uuid not null,
      submission_id uuid not null,
      sequence bigint not null,
      stage text collate "C" not null,
      done integer not null,
      total integer not null,
      step integer not null,
      at timestamptz not null,
      primary key (user_id, submission_id, sequence)
    );
    comment on table onboarding.submission_event is 'What happened, in its order: what those see who watch.';

    create table onboarding.anonymous_record_lookup (
      key_hash bytea primary key check (length(key_hash) = 32),
      record jsonb not null,
      expires_at timestamptz not null
    );
    create index anonymous_record_expires_at on onboarding.anonymous_record_lookup (expires_at);
    comment on table onboarding.anonymous_record_lookup is 'What people have answered who have no account yet, by the hash of a secret of the device.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.answer, onboarding.recording, onboarding.staged_bytes, onboarding.upload,
          onboarding.submission, onboarding.submission_warning, onboarding.submission_event, onboarding.anonymous_record_lookup
          to parley_onboarding;
      end if;
    end $$;
    """#
}
