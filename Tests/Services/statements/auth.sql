-- What parley-auth of the last release sends to PostgreSQL, each statement behind the types of its parameters by number.
-- PARLEY_RECORD_STATEMENTS=1 writes it; Tests/README.md says when.

-- parameters: 2950
delete from auth.account where user_id = $1;

-- parameters: 2950 2950
delete from auth.account_export_chunk as chunk using auth.account_work_step as step
where chunk.user_id = $1 and chunk.work_id = $2 and step.user_id = chunk.user_id
  and step.work_id = chunk.work_id and step.name = chunk.step and step.attempts <> chunk.attempt;

-- parameters: 2950
delete from auth.account_export_chunk where user_id = $1;

-- parameters: 2950
delete from auth.account_work where user_id = $1 and kind = 'export';

-- parameters: 2950 2950
delete from auth.account_work_count where user_id = $1
  and work_id in (select id from auth.account_work where user_id = $2 and kind = 'export');

-- parameters: 2950 2950
delete from auth.account_work_step where user_id = $1
  and work_id in (select id from auth.account_work where user_id = $2 and kind = 'export');

-- parameters: 1184 20
delete from auth.capability_use where (subject_hash, capability, day) in (
  select subject_hash, capability, day from auth.capability_use
  where day < ($1 at time zone 'UTC')::date limit $2 for update skip locked);

-- parameters: 2950
delete from auth.customer_lookup where user_id = $1;

-- parameters: 2950
delete from auth.entitlement where user_id = $1;

-- parameters: 1184 20
delete from auth.exchanged_token where hash in (
  select hash from auth.exchanged_token where expires_at < $1 limit $2
  for update skip locked);

-- parameters: 2950
delete from auth.idempotency where user_id = $1;

-- parameters: 2950
delete from auth.identity_lookup where user_id = $1;

-- parameters: 17 25 25 1184
delete from auth.nonce
where hash = $1 and app = $2 and provider = $3 and expires_at > $4;

-- parameters: 1184 20
delete from auth.nonce where hash in (
  select hash from auth.nonce where expires_at < $1 limit $2 for update skip locked);

-- parameters: 2950
delete from auth.provider_grant where user_id = $1;

-- parameters: 1009 2950
delete from auth.rate_limit where key = any($1)
  or key in (select 'refresh:' || id from auth.session where user_id = $2);

-- parameters: 1184 701 20
delete from auth.rate_limit where key in (
  select key from auth.rate_limit where touched_at < $1 - make_interval(secs => $2) limit $3 for update skip locked);

-- parameters: 1184 20
delete from auth.revocation where cursor in (
  select cursor from auth.revocation where matters_until < $1 limit $2
  for update skip locked);

-- parameters: 2950
delete from auth.subscription_snapshot where user_id = $1;

-- parameters: 2950 25 25 25 25 16 16 1184
insert into auth.account (
  user_id, app, provider, name, email, email_is_verified, email_is_private, created_at)
values (
  $1, $2, $3, $4, $5,
  $6, $7, $8)
returning user_id, app, provider, name, email, email_is_verified, email_is_private, created_at, suspended_at is not null,
  deleting_at is not null;

-- parameters: 2950 2950 25 23 23 25 25 20 17 17
insert into auth.account_export_chunk (
  user_id, work_id, step, attempt, sequence, document, content_type, document_offset, data, sha256)
values (
  $1, $2, $3, $4, $5, $6,
  $7, $8, $9, $10);

-- parameters: 2950 2950 25 25 25 1184
insert into auth.account_work (user_id, id, app, kind, idempotency_key, created_at)
values (
  $1, $2, $3, $4, $5, $6);

-- parameters: 2950 2950 25 25 20 20 25
insert into auth.account_work_count (user_id, work_id, step, kind, deleted, held, why_held)
values (
  $1, $2, $3, $4, $5, $6,
  $7);

-- parameters: 2950 2950 1009
insert into auth.account_work_step (user_id, work_id, name, place)
select $1, $2, step.name, step.place from unnest($3)
  with ordinality as step (name, place)
on conflict do nothing;

-- parameters: 2950 2950 1184 25 25 25 25 2950 25 25 25 25
insert into auth.activity (user_id, id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note) values ($1, $2, $3, $4,
$5, $6, $7, $8,
$9, $10, $11, $12);

-- parameters: 2950 1184 25
insert into auth.customer_lookup (customer_id, user_id, cause, linked_at)
select
  case when exists (select from auth.forgotten_customer where hash = sha256(convert_to(q.id, 'UTF8')))
    then 'sha256:' || encode(sha256(convert_to(q.id, 'UTF8')), 'hex') else q.id end,
  $1, 'named', $2
from (select $3::text as id) as q
on conflict (customer_id) do nothing;

-- parameters: 17 2950 2950
insert into auth.deletion_receipt_lookup (hash, user_id, work_id)
values ($1, $2, $3);

-- parameters: 2950
insert into auth.entitlement as known (user_id)
select user_id from auth.account where user_id = $1 and deleting_at is null for share
on conflict (user_id) do update set checked_at = known.checked_at;

-- parameters: 17 1184
insert into auth.exchanged_token (hash, expires_at) values ($1, $2)
on conflict do nothing;

-- parameters: 2950 2950
insert into auth.forgotten_customer (hash)
select sha256(convert_to(id, 'UTF8'))
from (select $1::text as id union select customer_id from auth.customer_lookup where user_id = $2) as ids
on conflict (hash) do nothing;

-- parameters: 25 25 25 2950 1184
insert into auth.identity_lookup as known (app, provider, subject, user_id, created_at)
values ($1, $2, $3, $4, $5)
on conflict (app, provider, subject) do update set subject = known.subject returning user_id;

-- parameters: 17 25 25 1184 25 23 23
insert into auth.nonce (hash, app, provider, expires_at)
select $1, $2, $3, $4 where coalesce((select taken.granted from auth.rate_limit as taken where taken.key = $5), $6)
  >= $7;

-- parameters: 701 701 1184 701 1009 1007 2951 2950 701 701 701 701 701 701 701 701
insert into auth.rate_limit as bucket (key, tokens, touched_at, asked, granted)
select q.key, $1 - least(q.asked, $2), $3, q.asked, least(q.asked, $4)::integer
from unnest($5, $6, $7) as q (key, asked, person)
where q.person = $8 or not exists (select from auth.account_work as work where work.user_id = q.person and work.kind = 'deletion')
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

-- parameters: 23 1184 1184 17 25
insert into auth.refresh_pepper (generation, created_at, activates_at, sealed_pepper, sealed_with)
values ($1, $2, $3,
  $4, $5)
on conflict (generation) do nothing;

-- parameters: 25 1184 2951
insert into auth.revocation (session_id, cause, matters_until)
select q.id, $1, $2 from unnest($3) as q (id);

-- parameters: 2950 2950 25 25 25 25 25 1184 1184 1184 25 1184 1184 20 17
insert into auth.session (
  user_id, id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
  expires_at, ends_at, generation, token_hash)
values (
  $1, $2, $3, $4, $5,
  $6, $7, $8,
  $9, $10, $11,
  $12, $13, $14,
  $15);

-- parameters: 2950 2950 25
insert into auth.session_lookup (session_id, user_id, app)
values ($1, $2, $3);

-- parameters: 23 25 1184 1184 25 17 25
insert into auth.signing_key
  (generation, key_id, created_at, activates_at, public_key, sealed_private_key, sealed_with)
values ($1, $2, $3,
  $4, $5, $6, $7)
on conflict (generation) do nothing;

-- parameters: 2950 1009 1185 1185 1000 1000 1000
insert into auth.subscription_snapshot (
  user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew)
select $1, q.product_id, q.ends_at, nullif(q.grace_until, '-infinity'), q.is_trial, q.has_billing_issue,
  q.will_renew
from unnest(
  $2, $3,
  $4, $5,
  $6, $7)
  as q (product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew);

-- parameters: 2950 1009
select $1, row_to_json(r)::text from (
  select capability, day, issued, cap from auth.capability_use
  where subject_hash = any($2) order by day, capability) as r;

-- parameters: 2950 1009
select $1, row_to_json(r)::text from (
  select capability, is_stopped, reason, changed_at, changed_by from auth.kill_switch_change
  where subject_hash = any($2) order by id) as r;

-- parameters: 2950 2950
select $1, row_to_json(r)::text from (
  select provider, client_id, granted_at, ended_at, ending, failed_at, failure from auth.provider_grant
  where user_id = $2 order by provider, client_id) as r;

-- parameters: 1184 2950 2950 25 25 25 25 25 25 2950 2950 20
select * from (select j.id, j.kind, j.version, j.queue,
  case when j.held then 'held' when j.due_at <= n.at then 'ready' when j.holder is null then 'scheduled' else 'running' end
    as state,
  j.priority, j.unique_key, j.user_id, j.attempt, j.max_attempts, j.enqueued_at, j.due_at as moment,
  coalesce(j.holder, '') as holder, coalesce(j.last_error, '') as last_error, '' as reason, j.steps,
  j.progress_done, j.progress_total, j.progress_note, length(j.payload) as payload_length from auth.job j, (values ($1)) as n(at)
union all select d.id, d.kind, d.version, d.queue, 'dead' as state, d.priority, d.unique_key, d.user_id, d.attempt, d.max_attempts,
  d.enqueued_at, d.died_at as moment, '' as holder, d.last_error, d.reason, d.steps, d.progress_done, d.progress_total,
  d.progress_note, length(d.payload) as payload_length from auth.dead_job d) as all_jobs
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
  j.progress_done, j.progress_total, j.progress_note, length(j.payload) as payload_length from auth.job j, (values ($1)) as n(at)
union all select d.id, d.kind, d.version, d.queue, 'dead' as state, d.priority, d.unique_key, d.user_id, d.attempt, d.max_attempts,
  d.enqueued_at, d.died_at as moment, '' as holder, d.last_error, d.reason, d.steps, d.progress_done, d.progress_total,
  d.progress_note, length(d.payload) as payload_length from auth.dead_job d) as all_jobs where id = $2;

-- parameters: 1184 1184 25 25 1009 23
select * from auth.job_claim(
  $1, $2, $3, $4, $5, $6);

-- parameters: 1184 2951 1016
select * from auth.job_finish($1, $2, $3);

-- parameters: 1184 2950
select account.user_id, account.app, account.provider, account.name, account.email, account.email_is_verified,
  account.email_is_private, account.created_at, account.suspended_at, coalesce(account.suspended_by, ''),
  coalesce(account.suspension_reason, ''), coalesce(identity.subject, ''), live.count, live.last_used_at
from auth.account as account
left join lateral (
  select subject from auth.identity_lookup where user_id = account.user_id order by created_at limit 1) as identity on true
cross join lateral (
  select count(*) as count, max(last_used_at) as last_used_at from auth.session
  where user_id = account.user_id and ended_at is null and expires_at > $1) as live where account.user_id = $2;

-- parameters: 1184 20
select account.user_id, account.app, account.provider, account.name, account.email, account.email_is_verified,
  account.email_is_private, account.created_at, account.suspended_at, coalesce(account.suspended_by, ''),
  coalesce(account.suspension_reason, ''), coalesce(identity.subject, ''), live.count, live.last_used_at
from auth.account as account
left join lateral (
  select subject from auth.identity_lookup where user_id = account.user_id order by created_at limit 1) as identity on true
cross join lateral (
  select count(*) as count, max(last_used_at) as last_used_at from auth.session
  where user_id = account.user_id and ended_at is null and expires_at > $1) as live where true
order by account.created_at desc, account.user_id desc limit $2;

-- parameters: 2950
select app, case when suspended_at is not null then coalesce(suspension_reason, '') end
from auth.account where user_id = $1 for no key update;

-- parameters: 2950
select app, provider, subject from auth.identity_lookup where user_id = $1 order by app, provider, subject;

-- parameters: 2950 1184
select auth.begin_deletion($1, $2);

-- parameters: 2950
select auth.forget_activity($1);

-- parameters: 2950 1009 17
select auth.forget_issuance($1, $2, $3);

-- parameters: 2950
select auth.forget_webhook_events($1);

-- parameters: 2950 2950
select auth.job_forget($1, $2::uuid);

-- parameters: 1184 25 25
select auth.job_pause($1, $2, $3);

-- parameters: 1184 2951 25 25 23
select auth.job_purge_dead(
  $1, $2::uuid[], $3::text, $4::text, $5);

-- parameters: 2951
select auth.job_purge_waiting($1);

-- parameters: 25
select auth.job_resume($1);

-- parameters: 1184 2950 17
select auth.job_retry($1, $2, $3::bytea);

-- parameters:
select capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch
order by capability, subject_hash;

-- parameters: 2950 2950 20 20
select coalesce(min(rank), 2147483647) from auth.account_export_chunk
where user_id = $1 and work_id = $2
  and (start >= $3 or start + length(data) > $4);

-- parameters: 2950 2950
select coalesce(sum(length(chunk.data)), 0)::bigint from auth.account_export_chunk as chunk
join auth.account_work_step as step
  on step.user_id = chunk.user_id and step.work_id = chunk.work_id and step.name = chunk.step
  and step.attempts = chunk.attempt and step.done_at is not null
where chunk.user_id = $1 and chunk.work_id = $2;

-- parameters: 2950
select count(*) from auth.account_work where user_id = $1 and kind = 'export';

-- parameters: 2950 2950 25
select count(*) from auth.account_work_step
where user_id = $1 and work_id = $2 and done_at is null and name <> $3;

-- parameters:
select current_setting('max_connections')::int4;

-- parameters: 20 1184 20
select cursor, session_id, cause, matters_until from auth.revocation
where cursor >= $1 and matters_until > $2 order by cursor limit $3;

-- parameters: 2950
select customer_id from auth.customer_lookup where user_id = $1;

-- parameters: 2950
select deleting_at is not null from auth.account where user_id = $1 for update;

-- parameters: 2950 2950
select done_at is not null from auth.account_work
where user_id = $1 and id = $2 and kind = 'deletion' for update;

-- parameters: 2950 2950
select done_at is null from auth.account_work where user_id = $1 and id = $2 and kind = 'export' for update;

-- parameters: 1009 16 20
select event_id, type, is_sandbox, occurred_at, customers, transferred_from, transferred_to, product_id, entitlements,
  expires_at, grace_until, period, reason
from auth.webhook_event where all_customers && $1
  and (type = 'TRANSFER' or not $2)
order by occurred_at desc, event_id desc limit $3;

-- parameters: 2950
select exists (select from auth.account where user_id = $1 and deleting_at is null);

-- parameters: 1009 1009 2951
select found.id, account.user_id, account.deleting_at is not null
from (
  select asked.id, link.user_id, 0 as place
  from unnest($1) as asked (id)
    join auth.customer_lookup as link on link.customer_id in (asked.id, 'sha256:' || encode(sha256(convert_to(asked.id, 'UTF8')), 'hex'))
  union all
  select id, user_id, 1 from unnest($2, $3) as own (id, user_id)
) as found join auth.account as account on account.user_id = found.user_id
order by found.place;

-- parameters:
select generation, created_at, activates_at, sealed_pepper, sealed_with from auth.refresh_pepper order by generation;

-- parameters:
select generation, key_id, created_at, activates_at, public_key, sealed_private_key, sealed_with
from auth.signing_key order by generation;

-- parameters: 2950 25
select id from auth.account_work
where user_id = $1 and kind = 'export' and (done_at is null or idempotency_key = $2)
order by done_at is null desc limit 1;

-- parameters: 2950
select id from auth.account_work where user_id = $1 and kind = 'deletion';

-- parameters: 1009
select id from unnest($1) as t (id)
where exists (select from auth.forgotten_customer where hash = sha256(convert_to(id, 'UTF8')));

-- parameters: 2950 20
select id, capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch_change
where id < $1 and true order by id desc limit $2;

-- parameters: 2950 2950 20
select id, row_to_json(r)::text from (
  select id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
    expires_at, ends_at, ended_at, end_cause
  from auth.session where user_id = $1 and id > $2 order by id limit $3) as r;

-- parameters: 2950 2950 20
select id, row_to_json(r)::text from (
  select id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note
  from auth.activity where user_id = $1 and id > $2 order by id limit $3) as r;

-- parameters: 2950
select id, row_to_json(r)::text from (
  select id, created_at, done_at from auth.account_work
  where user_id = $1 and kind = 'deletion') as r;

-- parameters: 2950
select id, row_to_json(r)::text from (
  select id, created_at, done_at, expires_at, byte_count from auth.account_work
  where user_id = $1 and kind = 'export' order by id) as r;

-- parameters: 1009 1009 2950 20
select id, row_to_json(r)::text from (
  select id, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason
  from auth.token_issuance
  where subject_hash = any($1) and audience = any($2) and id > $3
  order by id limit $4) as r;

-- parameters: 25 2950 20
select id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id,
  outcome, reason
from auth.token_issuance
where subject_hash = $1 and id < $2
order by id desc limit $3;

-- parameters: 2950 1184 2950 2950 2950 2950
select id, user_id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
expires_at, ends_at, generation, token_hash, spent_hash, spent_attempt, spent_at, end_cause from auth.session
where user_id = $1 and ended_at is null and expires_at > $2
  and ($3::uuid is null or id = $4) and ($5::uuid is null or id <> $6)
order by id for update;

-- parameters: 2950 1184 1184 2950 20
select id, user_id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
expires_at, ends_at, generation, token_hash, spent_hash, spent_attempt, spent_at, end_cause from auth.session
where user_id = $1 and ended_at is null and expires_at > $2
  and (last_used_at, id) < ($3, $4)
order by last_used_at desc, id desc limit $5;

-- parameters: 2950 2950 25 23 23
select id, user_id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
expires_at, ends_at, generation, token_hash, spent_hash, spent_attempt, spent_at, end_cause from auth.session
where user_id = $1 and id = $2 and coalesce((select taken.granted from auth.rate_limit as taken where taken.key = $3), $4)
  >= $5 for update;

-- parameters:
select key from auth.page_key;

-- parameters: 1184
select kind, count(*) from auth.account_work where done_at is null and created_at < $1 group by kind;

-- parameters: 2950 2950 25
select kind, deleted, held, why_held from auth.account_work_count
where user_id = $1 and work_id = $2 and step = $3 order by kind;

-- parameters: 2950 2950
select name, attempts, done_at, failure from auth.account_work_step
where user_id = $1 and work_id = $2 order by place, name;

-- parameters: 2950
select name, finished_at from auth.job_step where job_id = $1 order by finished_at, name;

-- parameters:
select pg_advisory_xact_lock(hashtext('auth'), hashtext('revocation'));

-- parameters: 1009
select pg_advisory_xact_lock(key)
from (select distinct hashtextextended(id, 5100) as key from unnest($1) as t (id) order by 1) as keys;

-- parameters:
select pg_current_xact_id_if_assigned() is not null
  and not exists (select from pg_settings where name = 'synchronous_commit' and source = 'session' and setting = 'off');

-- parameters: 2950
select product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew
from auth.subscription_snapshot where user_id = $1;

-- parameters: 2950
select product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew, management_url, customer_id, checked_at,
  asked_at, ask_attempts, ask_pause_until, ask_has_failed
from auth.entitlement where user_id = $1;

-- parameters: 1184 2951 1009 1009 1007 1005 1009 2951 1001 1007 1185
select proposed, existing from auth.job_enqueue($1, $2, $3, $4,
  $5, $6, $7,
  $8, $9,
  $10, $11);

-- parameters: 1184
select s.*, (select coalesce(sum(h.held), 0)::bigint from auth.job_held() h where h.queue = s.queue)
from auth.job_statistics($1) s;

-- parameters:
select salt from auth.subject_salt;

-- parameters: 2951 1184
select session.id from auth.session_lookup as lookup
join auth.session as session on session.user_id = lookup.user_id and session.id = lookup.session_id
where lookup.session_id = any($1) and session.ended_at is null
  and session.expires_at > $2;

-- parameters: 25
select set_config('statement_timeout', $1, true);

-- parameters: 2950
select snapshot_at from auth.entitlement where user_id = $1;

-- parameters: 2950 2950
select step, kind, deleted, held, why_held from auth.account_work_count
where user_id = $1 and work_id = $2 order by step, kind;

-- parameters: 2950 2950 23 20
select step, start, document, content_type, document_offset, data, sha256 from auth.account_export_chunk
where user_id = $1 and work_id = $2 and rank >= $3 order by rank limit $4;

-- parameters: 2951
select user_id from auth.account where user_id = any($1) and deleting_at is null
order by user_id for share;

-- parameters: 25 25 25
select user_id from auth.identity_lookup
where app = $1 and provider = $2 and subject = $3;

-- parameters: 2950 25 23 23
select user_id, app from auth.session_lookup where session_id = $1 and coalesce((select taken.granted from auth.rate_limit as taken where taken.key = $2), $3)
  >= $4;

-- parameters: 2950
select user_id, app, provider, name, email, email_is_verified, email_is_private, created_at, suspended_at is not null,
  deleting_at is not null from auth.account where user_id = $1;

-- parameters: 1184 1184 20
select user_id, id from auth.account_work
where kind = 'export' and done_at is not null
  and coalesce(expires_at, done_at) < case when expires_at is null then $1 else $2 end
limit $3 for update skip locked;

-- parameters: 1184 20
select user_id, id from auth.account_work where kind = 'deletion' and done_at < $1
limit $2 for update skip locked;

-- parameters: 2950 2950
select user_id, id, app, kind, created_at, done_at, failure, expires_at, byte_count from auth.account_work
where user_id = $1 and id = $2;

-- parameters: 2950 20
select user_id, id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note from auth.activity
where id < $1 and true order by id desc limit $2;

-- parameters: 2950 2950 20
select user_id, id, at, app, action, outcome, reason, session_id, client_address, request_id, actor, note from auth.activity
where user_id = $1 and id < $2 order by id desc limit $3;

-- parameters: 1184
select user_id, id, kind from auth.account_work where done_at is null and created_at < $1
order by created_at limit 1000;

-- parameters: 2950
select user_id, row_to_json(r)::text from (
  select user_id, app, provider, name, email, email_is_verified, email_is_private, email_is_forwarded, email_told_at, created_at,
    suspended_at, suspended_by, suspension_reason, deleting_at
  from auth.account where user_id = $1) as r;

-- parameters: 2950
select user_id, row_to_json(r)::text from (
  select user_id, app, provider, subject, created_at from auth.identity_lookup where user_id = $1
  order by app, provider, subject) as r;

-- parameters: 2950
select user_id, row_to_json(r)::text from (
  select user_id, customer_id, cause, linked_at from auth.customer_lookup where user_id = $1
  order by customer_id) as r;

-- parameters: 2950
select user_id, row_to_json(r)::text from (
  select user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew
  from auth.subscription_snapshot where user_id = $1 order by product_id) as r;

-- parameters: 2950
select user_id, row_to_json(r)::text from (
  select user_id, product_id, ends_at, grace_until, is_trial, has_billing_issue, will_renew, management_url, customer_id,
    checked_at, asked_at, snapshot_at
  from auth.entitlement where user_id = $1) as r;

-- parameters: 17
select user_id, work_id from auth.deletion_receipt_lookup where hash = $1;

-- parameters: 25 16 16 25 25 25
update auth.account set
  email = $1, email_is_verified = $2, email_is_private = $3
where user_id = (select user_id from auth.identity_lookup
where app = $4 and provider = $5 and subject = $6) returning user_id, app, provider, name, email, email_is_verified, email_is_private, created_at, suspended_at is not null,
  deleting_at is not null;

-- parameters: 1184 25 25 2950
update auth.account set
  suspended_at = coalesce(suspended_at, $1), suspended_by = $2,
  suspension_reason = $3
where user_id = $4;

-- parameters: 25 2950
update auth.account set name = $1 where user_id = $2 returning user_id, app, provider, name, email, email_is_verified, email_is_private, created_at, suspended_at is not null,
  deleting_at is not null;

-- parameters: 2950
update auth.account set suspended_at = null, suspended_by = null, suspension_reason = null where user_id = $1;

-- parameters: 2950 2950 2950 2950
update auth.account_export_chunk as chunk set start = placed.start, rank = placed.rank
from (
  select piece.step, piece.sequence, (row_number() over (order by step.place, piece.sequence) - 1)::integer as rank,
    (sum(length(piece.data)) over (order by step.place, piece.sequence) - length(piece.data))::bigint as start
  from auth.account_export_chunk as piece
  join auth.account_work_step as step
    on step.user_id = piece.user_id and step.work_id = piece.work_id and step.name = piece.step
  where piece.user_id = $1 and piece.work_id = $2) as placed
where chunk.user_id = $3 and chunk.work_id = $4 and chunk.step = placed.step
  and chunk.sequence = placed.sequence;

-- parameters: 1184 2950 2950
update auth.account_work set done_at = $1 where user_id = $2 and id = $3;

-- parameters: 1184 1184 2950 2950 2950 2950
update auth.account_work set done_at = $1, expires_at = $2, byte_count = (
  select coalesce(sum(length(data)), 0) from auth.account_export_chunk where user_id = $3 and work_id = $4)
where user_id = $5 and id = $6;

-- parameters: 1184 2950 2950
update auth.account_work set expires_at = least(expires_at, $1)
where user_id = $2 and id = $3 and kind = 'export';

-- parameters: 2950 2950 25
update auth.account_work_step set attempts = attempts + 1
where user_id = $1 and work_id = $2 and name = $3 and done_at is null
returning attempts;

-- parameters: 2950 2950 25
update auth.account_work_step set attempts = attempts + 1
where user_id = $1 and work_id = $2 and name = $3 returning attempts;

-- parameters: 1184 2950 2950 25 23
update auth.account_work_step set done_at = $1, failure = ''
where user_id = $2 and work_id = $3 and name = $4
  and done_at is null and attempts = $5;

-- parameters: 1184 1184 1184 2950
update auth.entitlement set asked_at = $1, checked_at = $2, reread_attempts = 0,
  reread_due_at = case when reread_wanted_at > $3 then reread_due_at end
where user_id = $4;

-- parameters: 25 1184 1184 16 16 16 1184 2950
update auth.entitlement set product_id = $1,
  ends_at = $2,
  grace_until = $3, is_trial = $4,
  has_billing_issue = $5, will_renew = $6,
  checked_at = greatest(checked_at, $7)
where user_id = $8;

-- parameters: 1184 1184 20
update auth.entitlement set reread_due_at = $1, reread_attempts = reread_attempts + 1
where user_id in (
  select user_id from auth.entitlement where reread_due_at <= $2 order by reread_due_at
  limit $3 for update skip locked)
returning user_id, customer_id, reread_attempts;

-- parameters: 1184 25 25 2950 1184
update auth.entitlement set snapshot_at = $1, management_url = $2,
  customer_id = $3
where user_id = $4 and (snapshot_at is null or snapshot_at <= $5);

-- parameters: 20 17 17 17 1184 1184 1184 25 2950 2950
update auth.session set
  generation = $1, token_hash = $2,
  spent_hash = $3, spent_attempt = $4,
  spent_at = $5, expires_at = $6,
  last_used_at = $7, last_address = $8
where user_id = $9 and id = $10;

-- parameters: 1184 2950 2950 1184
update auth.session set authenticated_at = $1
where user_id = $2 and id = $3 and ended_at is null
  and expires_at > $4
returning id, user_id, app, provider, device_name, platform, app_version, created_at, authenticated_at, last_used_at, last_address,
expires_at, ends_at, generation, token_hash, spent_hash, spent_attempt, spent_at, end_cause;

-- parameters: 2950
update auth.session set device_name = '', platform = '', app_version = '', last_address = '' where user_id = $1;

-- parameters: 1184 25 2950 2950
update auth.session set ended_at = $1, end_cause = $2
where user_id = $3 and id = $4;

-- parameters: 25 1184 1184 20
update auth.session set ended_at = expires_at, end_cause = $1 where (user_id, id) in (
  select user_id, id from auth.session
  where coalesce(ended_at, expires_at) >= $2 and coalesce(ended_at, expires_at) <= $3
    and ended_at is null limit $4 for update skip locked);

-- parameters: 25 25 25 25 25 2951 1009 1185 1009 1009 1009 1009 1185 1009 1009 1007 1009 1009 1009 1007 25 25
with asked as (
  select q.*, (q.issued_at at time zone 'UTC')::date as day,
    case
      when q.bucket <> ''
        and coalesce((select taken.granted from auth.rate_limit as taken where taken.key = q.bucket), q.turn) < q.turn
        then $1
      when exists (
        select from auth.kill_switch s
        where s.is_stopped and s.capability in ($2, q.capability) and s.subject_hash = '') then $3
      when exists (
        select from auth.kill_switch s
        where s.is_stopped and s.capability in ($4, q.capability) and s.subject_hash = q.subject_hash)
        or exists (
          select from auth.identity_lookup i join auth.account a on a.user_id = i.user_id
          where i.app = any(string_to_array(q.apps, ' ')) and i.provider = 'google' and i.subject = q.holder
            and a.suspended_at is not null) then $5
      else '' end as stop
  from unnest(
    $6, $7, $8, $9,
$10, $11, $12, $13,
$14, $15, $16, $17,
    $18, $19,
    $20) with ordinality
    as q (
      id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, cap, holder,
      apps, bucket, turn, place)
), wanted as (
  select subject_hash collate "C" as subject_hash, capability collate "C" as capability, day, count(*)::integer as asked,
    min(cap) as cap
  from asked where stop = '' group by 1, 2, 3
), counted as (
  insert into auth.capability_use as use (subject_hash, capability, day, issued, asked, cap, granted)
  select subject_hash, capability, day, least(asked, cap), asked, cap, least(asked, cap)
  from wanted order by subject_hash, capability, day
  on conflict (subject_hash, capability, day) do update set
    issued = use.issued + greatest(0, least(excluded.asked, excluded.cap - use.issued)),
    asked = excluded.asked,
    cap = excluded.cap,
    granted = greatest(0, least(excluded.asked, excluded.cap - use.issued))
  returning subject_hash, capability, day, granted
), judged as (
  select a.*, case
    when a.stop <> '' then a.stop
    when row_number() over (partition by a.subject_hash, a.capability, a.day, a.stop order by a.place)
      > coalesce(c.granted, 0) then $21
    else '' end as reason
  from asked a left join counted c
    on c.subject_hash = a.subject_hash and c.capability = a.capability and c.day = a.day
)
insert into auth.token_issuance (
  id, subject_hash, issued_at, audience, capability, account, scope, expires_at, client_address, request_id, outcome, reason)
select id, subject_hash, issued_at, audience, capability, account, scope,
  case when reason = '' then nullif(expires_at, 'infinity') end, client_address, request_id,
  case when reason = '' then 'issued' else 'denied' end, reason
from judged where reason <> $22
returning id, reason;

-- parameters: 25 16 25 1184 25 25 2950 25 25
with changed as (
  insert into auth.kill_switch as switch (capability, is_stopped, reason, changed_at, changed_by, subject_hash)
  values (
    $1, $2, $3, $4, $5,
    $6)
  on conflict (capability, subject_hash) do update set
    is_stopped = excluded.is_stopped, reason = excluded.reason, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by
  where (switch.is_stopped, switch.reason) is distinct from (excluded.is_stopped, excluded.reason)
  returning *
), recorded as (
  insert into auth.kill_switch_change (id, capability, is_stopped, reason, changed_at, changed_by, subject_hash)
  select $7, capability, is_stopped, reason, changed_at, changed_by, subject_hash
  from changed
)
select capability, is_stopped, reason, changed_at, changed_by, subject_hash from changed
union all
select capability, is_stopped, reason, changed_at, changed_by, subject_hash from auth.kill_switch
where capability = $8 and subject_hash = $9 and not exists (select from changed);

-- parameters: 1184 20
with gone as (
  delete from auth.session where (user_id, id) in (
    select user_id, id from auth.session where coalesce(ended_at, expires_at) < $1 limit $2
    for update skip locked)
  returning id)
delete from auth.session_lookup where session_id in (select id from gone);

-- parameters: 2950 2950 2950
with own (ids) as ((select array_agg(customer_id collate "default") || $1::text
 from auth.customer_lookup where user_id = $2))
select $3, row_to_json(r)::text from (
  select event_id, type, is_sandbox, occurred_at, received_at, product_id, entitlements, expires_at, grace_until, period, reason,
    array(select id from unnest(customers) as t (id) where id = any (ids)) as customers,
    array(select id from unnest(transferred_from) as t (id) where id = any (ids)) as transferred_from,
    array(select id from unnest(transferred_to) as t (id) where id = any (ids)) as transferred_to,
    -- Of purchases that were handed on, what was posted names the other person, too.
    case when all_customers <@ ids then convert_from(body, 'UTF8') end as body
  from auth.webhook_event, own where all_customers && ids order by occurred_at, event_id) as r;

-- parameters: 2950 20 20
with recursive name (capability) as (
  (select capability from auth.token_issuance order by capability limit 1)
  union all
  select (
    select issuance.capability from auth.token_issuance as issuance where issuance.capability > name.capability
    order by issuance.capability limit 1)
  from name where name.capability is not null
)
select id, subject_hash, issued_at, audience, capability, client_address, request_id, outcome, reason from name cross join lateral (
  select subject_hash, id, issued_at, audience, client_address, request_id, outcome, reason
  from auth.token_issuance as issuance
  where issuance.capability = name.capability and id < $1 and true order by id desc limit $2) as latest
order by id desc limit $3;
