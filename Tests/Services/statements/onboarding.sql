-- What parley-onboarding of the last release sends to PostgreSQL, each statement behind the types of its parameters by number.
-- PARLEY_RECORD_STATEMENTS=1 writes it; Tests/README.md says when.

-- parameters: 17 1184
delete from onboarding.anonymous_record_lookup where key_hash = $1 and expires_at > $2 returning record::text;

-- parameters: 1184 1184 20
delete from onboarding.anonymous_record_lookup where key_hash in (
  select key_hash from onboarding.anonymous_record_lookup where expires_at <= $1 and part = (
    select part from onboarding.anonymous_record_lookup where expires_at <= $2 order by expires_at limit 1)
  limit $3 for update skip locked);

-- parameters: 2950
delete from onboarding.answer where user_id = $1;

-- parameters: 2950
delete from onboarding.effect where user_id = $1;

-- parameters: 2950 25
delete from onboarding.expected_voice
where user_id = $1 and key = $2 and unwanted_since is null and attempts = 1;

-- parameters: 2950 20
delete from onboarding.idempotency where (user_id, method, key) in (
  select user_id, method, key from onboarding.idempotency where user_id = $1
  limit $2 for update skip locked);

-- parameters: 2950
delete from onboarding.identity where user_id = $1;

-- parameters: 2950
delete from onboarding.identity_correction where user_id = $1;

-- parameters: 2950
delete from onboarding.identity_field where user_id = $1;

-- parameters: 2950 20
delete from onboarding.rate_limit where key in (
  select key from onboarding.rate_limit where key like '%:' || $1::text limit $2
  for update skip locked);

-- parameters: 2950
delete from onboarding.recording where user_id = $1;

-- parameters: 2950 20
delete from onboarding.staged_bytes where (user_id, stage_id, start) in (
  select user_id, stage_id, start from onboarding.staged_bytes where user_id = $1 limit $2);

-- parameters: 2950
delete from onboarding.staged_bytes where user_id = $1;

-- parameters: 2950
delete from onboarding.submission where user_id = $1;

-- parameters: 2950
delete from onboarding.submission_event where user_id = $1;

-- parameters: 2950 2950 23 25
delete from onboarding.submission_warning
where user_id = $1 and submission_id = $2 and step = $3 and reason = $4;

-- parameters: 2950
delete from onboarding.submission_warning where user_id = $1;

-- parameters: 2950
delete from onboarding.unwanted_recording where user_id = $1;

-- parameters: 2950 17
delete from onboarding.unwanted_recording where user_id = $1 and digest = $2;

-- parameters: 2950 1001
delete from onboarding.unwanted_recording where user_id = $1 and digest = any($2);

-- parameters: 2950 25
delete from onboarding.unwanted_voice where user_id = $1 and voice_id = $2;

-- parameters: 2950
delete from onboarding.upload where user_id = $1;

-- parameters: 2950 25 25
delete from onboarding.upload where user_id = $1 and upload_id = $2 and not (completed_at is null or exists (
  select from onboarding.recording where recording.user_id = upload.user_id and recording.digest = upload.digest
    and recording.reason <> $3));

-- parameters: 2950
delete from onboarding.voice where user_id = $1;

-- parameters: 2950
delete from onboarding.work where user_id = $1;

-- parameters: 2950 23 25 25 17 1009 1184 1184 701 20 25 25
insert into onboarding.answer as kept (
  user_id, step, type, value, recording, fields, answered_at, received_at, duration_seconds, audio_size, audio_format, voice_uri)
values (
  $1, $2, $3, $4, $5, $6,
  $7, $8, $9, $10, $11, $12)
on conflict (user_id, step) do update set type = excluded.type, value = excluded.value, recording = excluded.recording,
  fields = excluded.fields, answered_at = excluded.answered_at, received_at = excluded.received_at,
  duration_seconds = excluded.duration_seconds, audio_size = excluded.audio_size, audio_format = excluded.audio_format,
  voice_uri = excluded.voice_uri
where coalesce(excluded.answered_at, excluded.received_at) >= least(kept.answered_at, kept.received_at);

-- parameters: 2950 1184 1184
insert into onboarding.departure as kept (user_id, since, until) values ($1, $2, $3)
on conflict (user_id) do update set until = greatest(kept.until, excluded.until);

-- parameters: 2950 25 1184
insert into onboarding.effect (user_id, name, at) values ($1, $2, $3) on conflict do nothing;

-- parameters: 2950 25 1184 1184
insert into onboarding.expected_voice as known (user_id, key, since, until) values ($1, $2, $3, $4)
on conflict (user_id, key) do update set until = excluded.until, attempts = known.attempts + 1;

-- parameters: 2950 25 25 17 2950 1184 1184 1184 1184
insert into onboarding.idempotency as kept (
  user_id, method, key, request_hash, claim, lease_until, expires_at)
values (
  $1, $2, $3, $4, $5, $6,
  $7)
on conflict (user_id, method, key) do update set
  request_hash = excluded.request_hash, claim = excluded.claim, lease_until = excluded.lease_until, status = null,
  answer = null, expires_at = excluded.expires_at
where kept.expires_at <= $8 or (
  kept.status is null and kept.lease_until <= $9 and kept.request_hash = excluded.request_hash)
returning claim;

-- parameters: 2950 25 25 25 1184 1184
insert into onboarding.identity (user_id, name, summary, failure, extracted_at, updated_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (user_id) do update set name = excluded.name, summary = excluded.summary, failure = excluded.failure,
  extracted_at = excluded.extracted_at, updated_at = excluded.updated_at;

-- parameters: 2950 25 25 1184
insert into onboarding.identity_correction (user_id, name, value, updated_at)
values ($1, $2, $3, $4)
on conflict (user_id, name) do update set value = excluded.value, updated_at = excluded.updated_at;

-- parameters: 2950 1184 1009 1009 1009 1007 1009 1009
insert into onboarding.identity_field (user_id, name, value, source, step, quote, model, updated_at)
select $1, name, value, source, step, quote, model, $2
from unnest(
  $3, $4, $5, $6,
  $7, $8) as fact (name, value, source, step, quote, model);

-- parameters: 701 701 1184 701 1009 1007 2951 2950 701 701 701 701 701 701 701 701
insert into onboarding.rate_limit as bucket (key, tokens, touched_at, asked, granted)
select q.key, $1 - least(q.asked, $2), $3, q.asked, least(q.asked, $4)::integer
from unnest($5, $6, $7) as q (key, asked, person)
where q.person = $8 or not exists (select from onboarding.departure as gone where gone.user_id = q.person)
order by q.key collate "C"
on conflict (key) do update set
  tokens = greatest(0, least($9, bucket.tokens
  + greatest(0, extract(epoch from excluded.touched_at - bucket.touched_at)::float8) * $10) - least(excluded.asked, floor(least($11, bucket.tokens
  + greatest(0, extract(epoch from excluded.touched_at - bucket.touched_at)::float8) * $12) + $13)::integer)),
  touched_at = greatest(bucket.touched_at, excluded.touched_at),
  asked = excluded.asked,
  granted = least(excluded.asked, floor(least($14, bucket.tokens
  + greatest(0, extract(epoch from excluded.touched_at - bucket.touched_at)::float8) * $15) + $16)::integer)
returning key, granted::bigint, tokens, touched_at;

-- parameters: 2950 17 20 25 25 20 2950 1184 1184 1184 25
insert into onboarding.recording (
  user_id, digest, size, format, media_type, duration_ms, stage_id, state, created_at, updated_at, unreferred_since)
values (
  $1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10)
on conflict (user_id, digest) do update set stage_id = excluded.stage_id, stored_at = null, reason = '',
  state = case recording.state when 'failed' then 'pending' else recording.state end, updated_at = excluded.updated_at
where recording.reason = $11;

-- parameters: 2950 1184 1184 1184 1001 1016 1009 1009 2951 25
insert into onboarding.recording (
  user_id, digest, size, format, media_type, stage_id, state, created_at, updated_at, unreferred_since)
select $1, digest, size, format, media_type, stage_id, 'pending', $2, $3, $4
from unnest($5, $6, $7, $8, $9)
  as new (digest, size, format, media_type, stage_id)
on conflict (user_id, digest) do update set stage_id = excluded.stage_id, stored_at = null, reason = '',
  state = case recording.state when 'failed' then 'pending' else recording.state end, updated_at = excluded.updated_at
where recording.reason = $10;

-- parameters: 2950 2951 1016 1001
insert into onboarding.staged_bytes (user_id, stage_id, start, data)
select $1, stage_id, start, data
from unnest($2, $3, $4) as piece (stage_id, start, data)
on conflict do nothing;

-- parameters: 2950 2950 2950 17 25 25 25 23 23 23 23 25 1184 1184
insert into onboarding.submission (
  user_id, id, number, content_hash, idempotency_key, stage, name, zone, call_start, call_minutes, answers, recordings, device,
  created_at, updated_at)
values (
  $1, $2, (select coalesce(max(number), 0) + 1 from onboarding.submission where user_id = $3),
  $4, $5, 'received', $6, $7,
  $8, $9, $10,
  $11, $12::text::jsonb, $13, $14);

-- parameters: 25 1184 2950 25
insert into onboarding.unwanted_voice (user_id, voice_id, since)
select user_id, case when consented_at is null then $1 else voice_id end, $2 from onboarding.voice
where user_id = $3 and (consented_at is null or voice_id <> $4) on conflict do nothing;

-- parameters: 1184 2950
insert into onboarding.unwanted_voice (user_id, voice_id, since)
select user_id, voice_id, $1 from onboarding.voice where user_id = $2 and voice_id is not null
on conflict do nothing;

-- parameters: 2950 25 17 20 25 2950 1184
insert into onboarding.upload (user_id, upload_id, digest, size, media_type, received, stage_id, touched_at)
values ($1, $2, $3, $4, $5, 0, $6, $7) on conflict do nothing;

-- parameters: 2950 1184 1184 2950 16
insert into onboarding.voice (user_id, state, withdrawn_at, updated_at) values ($1, 'none', $2, $3)
on conflict (user_id) do update set consented_at = null, updated_at = excluded.updated_at,
  withdrawn_at = coalesce(voice.withdrawn_at, excluded.withdrawn_at), voice_id = null, failure = '',
  state = case when exists (select from onboarding.unwanted_voice where user_id = $4) or $5
    then 'deleting' else 'none' end;

-- parameters: 2950 25 1184 1184
insert into onboarding.voice as kept (user_id, state, statement, consented_at, updated_at)
values ($1, 'none', $2, $3, $4)
on conflict (user_id) do update set updated_at = excluded.updated_at, withdrawn_at = null,
  consented_at = case when kept.statement = excluded.statement then coalesce(kept.consented_at, excluded.consented_at)
    else excluded.consented_at end,
  statement = excluded.statement;

-- parameters: 2950 2950 20 1184
insert into onboarding.work as known (user_id, job_id, run_lease) values ($1, $2, $3)
on conflict (user_id) do update set job_id = excluded.job_id, run_lease = excluded.run_lease
where known.job_id = excluded.job_id or not exists (
  select from onboarding.job as other
  where other.id = known.job_id and other.run_lease = known.run_lease and other.holder is not null and other.due_at > $4);

-- parameters: 2950 2950
select (select count(*) from onboarding.identity_field where user_id = $1)
  + (select count(*) from onboarding.identity_correction where user_id = $2);

-- parameters: 2950
select (select id from onboarding.submission where user_id = $1 order by number desc limit 1);

-- parameters: 1184 2950 2950 25 25 25 25 25 25 2950 2950 20
select * from (select j.id, j.kind, j.version, j.queue,
  case when j.held then 'held' when j.due_at <= n.at then 'ready' when j.holder is null then 'scheduled' else 'running' end
    as state,
  j.priority, j.unique_key, j.user_id, j.attempt, j.max_attempts, j.enqueued_at, j.due_at as moment,
  coalesce(j.holder, '') as holder, coalesce(j.last_error, '') as last_error, '' as reason, j.steps,
  j.progress_done, j.progress_total, j.progress_note, length(j.payload) as payload_length from onboarding.job j, (values ($1)) as n(at)
union all select d.id, d.kind, d.version, d.queue, 'dead' as state, d.priority, d.unique_key, d.user_id, d.attempt, d.max_attempts,
  d.enqueued_at, d.died_at as moment, '' as holder, d.last_error, d.reason, d.steps, d.progress_done, d.progress_total,
  d.progress_note, length(d.payload) as payload_length from onboarding.dead_job d) as all_jobs
where ($2::uuid is null or id > $3) and ($4::text is null or queue = $5)
  and ($6::text is null or kind = $7)
  and ($8::text is null or state = $9)
  and ($10::uuid is null or user_id = $11)
order by id limit $12;

-- parameters: 1184 2950
select * from (select j.id, j.kind, j.version, j.queue,
  case when j.held then 'held' when j.due_at <= n.at then 'ready' when j.holder is null then 'scheduled' else 'running' end
    as state,
  j.priority, j.unique_key, j.user_id, j.attempt, j.max_attempts, j.enqueued_at, j.due_at as moment,
  coalesce(j.holder, '') as holder, coalesce(j.last_error, '') as last_error, '' as reason, j.steps,
  j.progress_done, j.progress_total, j.progress_note, length(j.payload) as payload_length from onboarding.job j, (values ($1)) as n(at)
union all select d.id, d.kind, d.version, d.queue, 'dead' as state, d.priority, d.unique_key, d.user_id, d.attempt, d.max_attempts,
  d.enqueued_at, d.died_at as moment, '' as holder, d.last_error, d.reason, d.steps, d.progress_done, d.progress_total,
  d.progress_note, length(d.payload) as payload_length from onboarding.dead_job d) as all_jobs where id = $2;

-- parameters: 1184 1184 25 25 1009 23
select * from onboarding.job_claim(
  $1, $2, $3, $4, $5, $6);

-- parameters: 1184 2951 1016
select * from onboarding.job_finish($1, $2, $3);

-- parameters: 1184 1184 2951 1016
select * from onboarding.job_heartbeat(
  $1, $2, $3, $4);

-- parameters: 1184 2950 20 20 20 25 1184 2950 20
select case when not onboarding.job_progress(
  $1, $2, $3, $4, $5, $6) then onboarding.job_hold($7, $8, $9)::text end;

-- parameters: 2950
select coalesce(sum(size), 0)::bigint from onboarding.recording where user_id = $1;

-- parameters: 2950
select consented_at is not null from onboarding.voice where user_id = $1 for update;

-- parameters: 2950
select count(*) from onboarding.answer where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.departure where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.effect where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.expected_voice where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.identity where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.recording where user_id = $1;

-- parameters: 2950 2950
select count(*) from onboarding.recording where user_id = $1 and transcript <> ''
  and digest in (select recording from onboarding.answer where user_id = $2 and recording is not null);

-- parameters: 2950
select count(*) from onboarding.submission where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.unwanted_recording where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.unwanted_voice where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.upload where user_id = $1;

-- parameters: 2950
select count(*) from onboarding.voice where user_id = $1;

-- parameters: 2950
select count(*), count(*) filter (where completed_at is null), coalesce(sum(size) filter (where completed_at is null), 0)::bigint
from onboarding.upload where user_id = $1;

-- parameters: 2950 2950
select count(*), count(stored_at), count(*) filter (where state <> 'pending') from onboarding.recording
where user_id = $1
  and digest in (select recording from onboarding.answer where user_id = $2 and recording is not null);

-- parameters:
select current_setting('max_connections')::int4;

-- parameters: 2950 2950 20
select data from onboarding.staged_bytes where user_id = $1 and stage_id = $2 and start = $3;

-- parameters: 2950 25
select digest from onboarding.recording where user_id = $1 and stored_at is not null and reason = $2;

-- parameters: 2950 25 25
select digest, size, media_type, received, stage_id, completed_at is not null from onboarding.upload
where user_id = $1 and upload_id = $2 and (completed_at is null or exists (
  select from onboarding.recording where recording.user_id = upload.user_id and recording.digest = upload.digest
    and recording.reason <> $3));

-- parameters: 2950 25 25
select digest, size, media_type, received, stage_id, completed_at is not null from onboarding.upload
where user_id = $1 and upload_id = $2 and (completed_at is null or exists (
  select from onboarding.recording where recording.user_id = upload.user_id and recording.digest = upload.digest
    and recording.reason <> $3)) for update;

-- parameters: 25 2950 1001
select digest, stored_at is not null, stored_at is not null and reason = $1 from onboarding.recording
where user_id = $2 and digest = any($3);

-- parameters: 25 20
select distinct user_id from onboarding.recording where state = 'failed' and reason = $1 and exists (
  select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
limit $2;

-- parameters: 2950
select from onboarding.voice where user_id = $1 for update;

-- parameters: 1184
select greatest(until, unwanted_since) as due from onboarding.expected_voice
where unwanted_since is not null and until <= $1 order by due limit 1;

-- parameters:
select key from onboarding.page_key;

-- parameters: 1009 25
select key from unnest($1) as wanted(key) where not exists (
  select from onboarding.job where job.kind = $2 and job.unique_key = wanted.key);

-- parameters: 2950
select key, until, kept_voice from onboarding.expected_voice where user_id = $1 and unwanted_since is not null
order by until;

-- parameters: 2950
select name, finished_at from onboarding.job_step where job_id = $1 order by finished_at, name;

-- parameters: 2950
select name, summary, failure, extracted_at, updated_at from onboarding.identity where user_id = $1;

-- parameters: 2950 2950
select name, value, 'correction', 0, '', '', updated_at from onboarding.identity_correction where user_id = $1
union all
select name, value, source, step, quote, model, updated_at from onboarding.identity_field as field
where user_id = $2 and not exists (
  select from onboarding.identity_correction as said where said.user_id = field.user_id and said.name = field.name);

-- parameters: 1184 2950 20 25 17
select onboarding.job_checkpoint($1, $2, $3, $4, $5);

-- parameters: 1184 2950 20
select onboarding.job_fence($1, $2, $3);

-- parameters: 2950 2950
select onboarding.job_forget($1, $2::uuid);

-- parameters: 1184 2950 20
select onboarding.job_hold($1, $2, $3);

-- parameters: 1184 25 25
select onboarding.job_pause($1, $2, $3);

-- parameters: 1184 2950 20 20 20 25
select onboarding.job_progress($1, $2, $3, $4, $5, $6);

-- parameters: 1184 2951 25 25 23
select onboarding.job_purge_dead(
  $1, $2::uuid[], $3::text, $4::text, $5);

-- parameters: 2951
select onboarding.job_purge_waiting($1);

-- parameters: 25
select onboarding.job_resume($1);

-- parameters: 1184 2950 17
select onboarding.job_retry($1, $2, $3::bytea);

-- parameters: 17 25 1184 20
select onboarding.keep_anonymous($1, $2, $3, $4);

-- parameters: 2950
select pg_advisory_xact_lock(hashtextextended('onboarding ' || $1::uuid::text, 0));

-- parameters:
select pg_current_xact_id_if_assigned() is not null
  and not exists (select from pg_settings where name = 'synchronous_commit' and source = 'session' and setting = 'off');

-- parameters: 1184 2951 1009 1009 1007 1005 1009 2951 1001 1007 1185
select proposed, existing from onboarding.job_enqueue($1, $2, $3, $4,
  $5, $6, $7,
  $8, $9,
  $10, $11);

-- parameters: 17 1184
select record::text from onboarding.anonymous_record_lookup where key_hash = $1 and expires_at > $2;

-- parameters: 2950 2950
select recording.digest, recording.size, recording.format, recording.media_type, recording.stage_id, recording.stored_at,
recording.duration_ms, recording.state, recording.transcript, recording.reason, recording.created_at,
(select min(answer.step) from onboarding.answer where answer.user_id = recording.user_id
  and answer.recording = recording.digest) as step from onboarding.recording as recording
where recording.user_id = $1 and exists (
  select from onboarding.answer where answer.user_id = $2 and answer.recording = recording.digest)
order by step, recording.digest;

-- parameters: 2950 17
select recording.digest, recording.size, recording.format, recording.media_type, recording.stage_id, recording.stored_at,
recording.duration_ms, recording.state, recording.transcript, recording.reason, recording.created_at,
(select min(answer.step) from onboarding.answer where answer.user_id = recording.user_id
  and answer.recording = recording.digest) as step from onboarding.recording as recording
where recording.user_id = $1 and recording.digest = $2;

-- parameters: 2950
select recording.digest, recording.size, recording.format, recording.media_type, recording.stage_id, recording.stored_at,
recording.duration_ms, recording.state, recording.transcript, recording.reason, recording.created_at,
(select min(answer.step) from onboarding.answer where answer.user_id = recording.user_id
  and answer.recording = recording.digest) as step from onboarding.recording as recording where recording.user_id = $1
order by recording.digest;

-- parameters: 2950
select row_to_json(r)::text from (
  select encode(digest, 'hex') as sha256, since from onboarding.unwanted_recording where user_id = $1 order by digest) as r;

-- parameters: 2950
select row_to_json(r)::text from (
  select encode(digest, 'hex') as sha256, size, format, media_type, duration_ms, state, transcript, model, reason, created_at
  from onboarding.recording where user_id = $1 order by digest) as r;

-- parameters: 2950
select row_to_json(r)::text from (
  select id, stage, name, zone, call_start, call_minutes, answers, recordings, device, created_at, done_at, (
    select json_agg(json_build_object('step', step, 'reason', reason, 'message', message))
    from onboarding.submission_warning as warning
    where warning.user_id = submission.user_id and warning.submission_id = submission.id) as warnings
  from onboarding.submission where user_id = $1 order by id) as r;

-- parameters: 2950
select row_to_json(r)::text from (
  select name, summary, failure, extracted_at, updated_at from onboarding.identity where user_id = $1) as r;

-- parameters: 2950 2950
select row_to_json(r)::text from (
  select name, value, source, step, quote, model, updated_at from onboarding.identity_field where user_id = $1
  union all
  select name, value, 'correction', 0, '', '', updated_at from onboarding.identity_correction where user_id = $2
  order by name) as r;

-- parameters: 2950
select row_to_json(r)::text from (
  select upload_id, encode(digest, 'hex') as sha256, size, media_type, received, completed_at, touched_at
  from onboarding.upload where user_id = $1 order by upload_id) as r;

-- parameters: 2950
select row_to_json(r)::text from (
  select voice_id, since from onboarding.unwanted_voice where user_id = $1 order by voice_id) as r;

-- parameters: 2950
select row_to_json(r)::text from (select * from onboarding.answer where user_id = $1 order by step) as r;

-- parameters: 2950
select row_to_json(r)::text from (select * from onboarding.voice where user_id = $1) as r;

-- parameters: 2950
select row_to_json(r)::text from (select key, since, until, unwanted_since from onboarding.expected_voice where user_id = $1) as r;

-- parameters: 2950
select row_to_json(r)::text from (select name, at from onboarding.effect where user_id = $1 order by name) as r;

-- parameters: 2950
select row_to_json(r)::text from (select since, until from onboarding.departure where user_id = $1) as r;

-- parameters: 1184
select s.*, (select coalesce(sum(h.held), 0)::bigint from onboarding.job_held() h where h.queue = s.queue)
from onboarding.job_statistics($1) s;

-- parameters: 2950 2950
select sequence, stage, done, total, step, at, case when stage = 'failed' then (
  select before.stage from onboarding.submission_event as before
  where before.user_id = event.user_id and before.submission_id = event.submission_id and before.sequence < event.sequence
  order by before.sequence desc limit 1) end from onboarding.submission_event as event
where user_id = $1 and submission_id = $2 order by sequence desc limit 1;

-- parameters: 2950 2950
select sequence, stage, done, total, step, at, case when stage = 'failed' then (
  select before.stage from onboarding.submission_event as before
  where before.user_id = event.user_id and before.submission_id = event.submission_id and before.sequence < event.sequence
  order by before.sequence desc limit 1) end from onboarding.submission_event as event
where user_id = $1 and submission_id = (select id from onboarding.submission where user_id = $2 order by number desc limit 1) order by sequence desc limit 1;

-- parameters:
select since from onboarding.unwanted_voice order by since limit 1;

-- parameters: 2950 2951
select stage_id, data from onboarding.staged_bytes
where user_id = $1 and stage_id = any($2) and start = 0;

-- parameters: 2950
select state, voice_id, failure, statement, consented_at, withdrawn_at, recloned_at, made_at, renewals
from onboarding.voice where user_id = $1;

-- parameters: 2950 2950
select step, reason, message from onboarding.submission_warning where user_id = $1 and submission_id = $2
order by step, reason;

-- parameters: 2950
select step, type, case when left(value, 260) !~* '^data:[^,[:cntrl:][:space:]]*[/;]' then value end, recording, fields, answered_at,
duration_seconds, audio_size, audio_format, voice_uri from onboarding.answer where user_id = $1 order by step;

-- parameters: 2950 2950 20 20 2950 2950
select submission.done_at is not null, told.* from onboarding.submission left join lateral (
  select sequence, stage, done, total, step, at, case when stage = 'failed' then (
  select before.stage from onboarding.submission_event as before
  where before.user_id = event.user_id and before.submission_id = event.submission_id and before.sequence < event.sequence
  order by before.sequence desc limit 1) end from onboarding.submission_event as event
  where event.user_id = $1 and event.submission_id = $2 and event.sequence > $3
  order by event.sequence limit $4) as told on true
where submission.user_id = $5 and submission.id = $6 order by told.sequence;

-- parameters: 2950 2950
select submission_id, step, reason, message from onboarding.submission_warning
where user_id = $1 and submission_id = (select id from onboarding.submission where user_id = $2 order by number desc limit 1) order by step, reason;

-- parameters: 1184
select until from onboarding.departure where until <= $1 order by until limit 1;

-- parameters: 2950
select until from onboarding.departure where user_id = $1;

-- parameters: 2950 25
select until, unwanted_since is not null from onboarding.expected_voice where user_id = $1 and key = $2 for update;

-- parameters: 2950 20 2950 20 1009 2950 20 1009 2950 20 1009 2950 20 20
select user_id from ((select distinct user_id from (select user_id, 'submission' as name, case when done_at is null then 'running' else 'given_up' end as reason,
  coalesce(done_at, created_at) as since
from onboarding.submission where (done_at is null or stage = 'failed') and user_id > $1 and not exists (
  select from onboarding.submission as newer
  where newer.user_id = submission.user_id and newer.number > submission.number)) as found order by user_id limit $2) union all (select distinct user_id from (select user_id, 'storing' as name, 'pending' as reason, created_at as since
from onboarding.recording where stored_at is null and user_id > $3 and exists (select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)) as found order by user_id limit $4) union all (select distinct user_id from (select user_id, 'transcription' as name, case when state = 'pending' then 'pending' else reason end as reason,
  updated_at as since
from onboarding.recording
where state in ('pending', 'failed') and reason <> all($5) and user_id > $6 and exists (select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)) as found order by user_id limit $7) union all (select distinct user_id from (select user_id, 'identity' as name, failure as reason, coalesce(extracted_at, updated_at) as since
from onboarding.identity where failure <> '' and failure <> all($8) and user_id > $9) as found order by user_id limit $10) union all (select distinct user_id from (select user_id, 'voice' as name, case when state = 'failed' then failure else 'pending' end as reason, updated_at as since
from onboarding.voice
where state in ('cloning', 'failed') and failure <> all($11) and consented_at is not null and user_id > $12) as found order by user_id limit $13)) as people group by user_id order by user_id limit $14;

-- parameters: 1184 20
select user_id from onboarding.departure where until <= $1 order by until limit $2;

-- parameters: 20
select user_id from onboarding.expected_voice where unwanted_since is not null group by user_id
order by min(unwanted_since) limit $1;

-- parameters: 25 20
select user_id from onboarding.identity where failure <> '' and failure = $1 limit $2;

-- parameters: 1184 20
select user_id from onboarding.recording where unreferred_since <= $1
  and not exists (
    select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest)
  and not exists (
    select from onboarding.upload where upload.user_id = recording.user_id and upload.digest = recording.digest)
  and not exists (
    select from onboarding.submission where submission.user_id = recording.user_id and submission.done_at is null)
  and not exists (
    select from onboarding.voice where voice.user_id = recording.user_id and voice.state = 'cloning') group by user_id
order by min(unreferred_since) limit $2;

-- parameters: 20
select user_id from onboarding.unwanted_voice group by user_id order by min(since) limit $1;

-- parameters: 25 20
select user_id from onboarding.voice where state = 'failed' and failure = $1 and consented_at is not null
limit $2;

-- parameters: 1184 20
select user_id, digest from onboarding.unwanted_recording where due_at <= $1 order by due_at limit $2;

-- parameters: 1184 2950 20
select user_id, id, content_hash, stage, name, zone, call_start, call_minutes, answers, recordings, retry_round, renewals, renewed_at,
rests_until, created_at, updated_at, done_at from onboarding.submission
where done_at is null and (created_at, id) > ($1, $2) order by created_at, id limit $3;

-- parameters: 2950 2950
select user_id, id, content_hash, stage, name, zone, call_start, call_minutes, answers, recordings, retry_round, renewals, renewed_at,
rests_until, created_at, updated_at, done_at from onboarding.submission where user_id = $1 and id = $2;

-- parameters: 2950
select user_id, id, content_hash, stage, name, zone, call_start, call_minutes, answers, recordings, retry_round, renewals, renewed_at,
rests_until, created_at, updated_at, done_at from onboarding.submission where user_id = $1 order by number desc limit 1;

-- parameters: 2951 2951 1009 2951 1009 2951 1009 2951
select user_id, name, reason, count(*), min(since) from (
  select user_id, 'submission' as name, case when done_at is null then 'running' else 'given_up' end as reason,
  coalesce(done_at, created_at) as since
from onboarding.submission where (done_at is null or stage = 'failed') and user_id = any($1) and not exists (
  select from onboarding.submission as newer
  where newer.user_id = submission.user_id and newer.number > submission.number) union all select user_id, 'storing' as name, 'pending' as reason, created_at as since
from onboarding.recording where stored_at is null and user_id = any($2) and exists (select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest) union all select user_id, 'transcription' as name, case when state = 'pending' then 'pending' else reason end as reason,
  updated_at as since
from onboarding.recording
where state in ('pending', 'failed') and reason <> all($3) and user_id = any($4) and exists (select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest) union all select user_id, 'identity' as name, failure as reason, coalesce(extracted_at, updated_at) as since
from onboarding.identity where failure <> '' and failure <> all($5) and user_id = any($6) union all select user_id, 'voice' as name, case when state = 'failed' then failure else 'pending' end as reason, updated_at as since
from onboarding.voice
where state in ('cloning', 'failed') and failure <> all($7) and consented_at is not null and user_id = any($8)) as parts
group by user_id, name, reason order by user_id, name, reason;

-- parameters: 20
select user_id, renewals, updated_at from onboarding.voice where state = 'cloning' order by updated_at
limit $1;

-- parameters: 2950
select voice_id from onboarding.unwanted_voice where user_id = $1 order by voice_id;

-- parameters: 2951 2951
select watched.id, coalesce((
  select max(sequence) from onboarding.submission_event as event
  where event.user_id = watched.user_id and event.submission_id = watched.id), 0)
from unnest($1, $2) as watched(id, user_id);

-- parameters: 1184 25 2950 25
update onboarding.expected_voice set unwanted_since = $1, kept_voice = $2
where user_id = $3 and key = $4 and unwanted_since is null and attempts > 1;

-- parameters: 1184 2950 25
update onboarding.expected_voice set unwanted_since = coalesce(unwanted_since, $1), kept_voice = null
where user_id = $2 and key is distinct from $3::text;

-- parameters: 21 17 2950 25 25 2950
update onboarding.idempotency set status = $1, answer = $2
where user_id = $3 and method = $4 and key = $5 and claim = $6
  and status is null
returning claim;

-- parameters: 1184 2950
update onboarding.identity set failure = 'pending', updated_at = $1 where user_id = $2;

-- parameters: 25 1184 2950
update onboarding.identity set summary = $1, updated_at = $2 where user_id = $3;

-- parameters: 1184 2950 1009 1009 2950
update onboarding.recording set state = 'pending', reason = '', updated_at = $1
where user_id = $2 and state = any($3) and reason <> all($4)
  and digest in (select recording from onboarding.answer where user_id = $5 and recording is not null);

-- parameters: 1184 2950 17 1184
update onboarding.recording set unreferred_since = $1
where user_id = $2 and digest = $3 and unreferred_since < $4;

-- parameters: 1184 2950 1001 1184
update onboarding.recording set unreferred_since = $1
where user_id = $2 and digest = any($3) and unreferred_since < $4;

-- parameters: 1184 2950
update onboarding.recording set unreferred_since = case when unreferred_since is null then $1::timestamptz end
where user_id = $2 and (unreferred_since is null) <> exists (
  select from onboarding.answer where answer.user_id = recording.user_id and answer.recording = recording.digest);

-- parameters: 1184 2950 2950
update onboarding.submission set superseded_at = $1
where user_id = $2 and id <> $3 and superseded_at is null;

-- parameters: 1184 1184 2950 25
update onboarding.upload set completed_at = $1, touched_at = $2
where user_id = $3 and upload_id = $4 and completed_at is null;

-- parameters: 1184 16 1184 2950
update onboarding.voice set state = 'cloning', failure = '', updated_at = $1, renewals = 0,
  recloned_before = case when state = 'cloning' then recloned_before else recloned_at end,
  recloned_at = case when $2 and made_at is not null then $3 else recloned_at end
where user_id = $4 and consented_at is not null;

-- parameters: 1184 2950 2950 2950
update onboarding.voice set state = 'none', updated_at = $1 where user_id = $2 and state = 'deleting'
  and not exists (select from onboarding.unwanted_voice where user_id = $3)
  and not exists (select from onboarding.expected_voice where user_id = $4 and unwanted_since is not null);

-- parameters: 25 1184 1184 2950
update onboarding.voice set voice_id = $1, state = 'ready', failure = '', updated_at = $2,
  made_at = coalesce(made_at, $3)
where user_id = $4 and consented_at is not null;

-- parameters: 1184 1001 1009 1009 1009 1009 1016 2950 2950 2950 1007 25
with changed as (update onboarding.recording set state = heard.state, transcript = nullif(heard.words, ''), model = heard.model,
  reason = heard.reason, attempts = attempts + 1, duration_ms = coalesce(nullif(heard.duration, -1), duration_ms),
  updated_at = $1
from unnest(
  $2, $3, $4, $5,
  $6, $7) as heard (digest, state, words, model, reason, duration)
where recording.user_id = $8 and recording.digest = heard.digest), settled as (
  delete from onboarding.submission_warning
  where user_id = $9 and submission_id = $10 and step = any($11) and reason = $12) select;

-- parameters: 1184 1001 1009 1009 1009 1009 1016 2950 2950 2950 1007 25 1001 2950 2950 2950 2950 2950 2950 25 1184 1007 25 1184 2950 2950 25 2950
with changed as (update onboarding.recording set state = heard.state, transcript = nullif(heard.words, ''), model = heard.model,
  reason = heard.reason, attempts = attempts + 1, duration_ms = coalesce(nullif(heard.duration, -1), duration_ms),
  updated_at = $1
from unnest(
  $2, $3, $4, $5,
  $6, $7) as heard (digest, state, words, model, reason, duration)
where recording.user_id = $8 and recording.digest = heard.digest), settled as (
  delete from onboarding.submission_warning
  where user_id = $9 and submission_id = $10 and step = any($11) and reason = $12),
before as (
  select count(*) filter (where state <> 'pending' and digest <> all($13)) as done, count(*) as total, (
      select coalesce(max(sequence), 0) from onboarding.submission_event
      where user_id = $14 and submission_id = $15) as sequence
  from onboarding.recording where user_id = $16
    and digest in (select recording from onboarding.answer where user_id = $17 and recording is not null)),
noted as (
  insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
  select $18::uuid, $19::uuid, before.sequence + part.place, $20,
    before.done + part.place, before.total, part.step, $21
  from before, unnest($22) with ordinality as part (step, place)),
moved as (
  update onboarding.submission set stage = $23, updated_at = $24, done_at = null
  where user_id = $25 and id = $26)
select pg_notify($27, $28::uuid::text);

-- parameters: 2950 2950 1001 1184 1184 2950 1001 2950 2950 1007 25 1001 2950 2950 2950 2950 2950 2950 25 1184 1007 25 1184 2950 2950 25 2950
with emptied as (
  delete from onboarding.staged_bytes where user_id = $1 and stage_id in (
    select stage_id from onboarding.recording where user_id = $2 and digest = any($3))),
changed as (
  update onboarding.recording set stored_at = $4, stage_id = null, updated_at = $5
  where user_id = $6 and digest = any($7)), settled as (
  delete from onboarding.submission_warning
  where user_id = $8 and submission_id = $9 and step = any($10) and reason = $11),
before as (
  select count(*) filter (where stored_at is not null and digest <> all($12)) as done, count(*) as total, (
      select coalesce(max(sequence), 0) from onboarding.submission_event
      where user_id = $13 and submission_id = $14) as sequence
  from onboarding.recording where user_id = $15
    and digest in (select recording from onboarding.answer where user_id = $16 and recording is not null)),
noted as (
  insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
  select $17::uuid, $18::uuid, before.sequence + part.place, $19,
    before.done + part.place, before.total, part.step, $20
  from before, unnest($21) with ordinality as part (step, place)),
moved as (
  update onboarding.submission set stage = $22, updated_at = $23, done_at = null
  where user_id = $24 and id = $25)
select pg_notify($26, $27::uuid::text);

-- parameters: 20 1184 2950 25 20 20 2950 20 17
with moved as (
  update onboarding.upload set received = received + $1, touched_at = $2
  where user_id = $3 and upload_id = $4 and received = $5 and completed_at is null
    and received + $6 <= size
  returning stage_id)
insert into onboarding.staged_bytes (user_id, stage_id, start, data)
select $7, stage_id, $8, $9 from moved;

-- parameters: 2950 2950 25 23 23 23 1184 2950 2950 25 1184 16 1184 2950 2950 25 2950
with noted as (
  insert into onboarding.submission_event (user_id, submission_id, sequence, stage, done, total, step, at)
  select $1, $2, coalesce(max(sequence), 0) + 1, $3, $4, $5, $6, $7
  from onboarding.submission_event where user_id = $8 and submission_id = $9),
moved as (
  update onboarding.submission set stage = $10, updated_at = $11,
    done_at = case when $12 then coalesce(done_at, $13) end
  where user_id = $14 and id = $15)
select pg_notify($16, $17::uuid::text);

-- parameters: 1184 20
with old as (
  select user_id, upload_id from onboarding.upload where touched_at < $1 and completed_at is not null
  limit $2 for update skip locked)
delete from onboarding.upload using old where upload.user_id = old.user_id and upload.upload_id = old.upload_id;

-- parameters: 1184 20
with old as (
  select user_id, upload_id, stage_id from onboarding.upload where touched_at < $1 and completed_at is null
  limit $2 for update skip locked),
emptied as (
  delete from onboarding.staged_bytes using old
  where staged_bytes.user_id = old.user_id and staged_bytes.stage_id = old.stage_id)
delete from onboarding.upload using old where upload.user_id = old.user_id and upload.upload_id = old.upload_id;

-- parameters: 1184 20 1184
with old as materialized (
  select user_id, id from onboarding.submission where done_at < $1 and course_pruned_at is null
  order by done_at limit $2 for update skip locked
), events as (
  delete from onboarding.submission_event as event using old
  where event.user_id = old.user_id and event.submission_id = old.id and event.sequence < (
    select max(last.sequence) - 1 from onboarding.submission_event as last
    where last.user_id = old.user_id and last.submission_id = old.id)
)
update onboarding.submission set course_pruned_at = $3 from old
where submission.user_id = old.user_id and submission.id = old.id;

-- parameters: 1184 20
with old as materialized (
  select user_id, id from onboarding.submission where superseded_at < $1 and done_at is not null
  order by superseded_at limit $2 for update skip locked
), events as (
  delete from onboarding.submission_event as event using old
  where event.user_id = old.user_id and event.submission_id = old.id
), warnings as (
  delete from onboarding.submission_warning as warning using old
  where warning.user_id = old.user_id and warning.submission_id = old.id
)
delete from onboarding.submission using old where submission.user_id = old.user_id and submission.id = old.id;
