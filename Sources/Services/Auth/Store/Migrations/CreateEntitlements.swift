extension AuthMigrations {
  static let createEntitlements = #"""
    -- One row for each person whose subscription was ever asked or told about: what the events and the last snapshot come to.
    create table auth.entitlement (
      user_id uuid primary key,
      product_id text not null default '',
      ends_at timestamptz,
      grace_until timestamptz,
      is_trial boolean not null default false,
      has_billing_issue boolean not null default false,
      will_renew boolean not null default false,
      management_url text,
      customer_id text collate "C",
      checked_at timestamptz,
      asked_at timestamptz,
      snapshot_at timestamptz,
      reread_due_at timestamptz,
      reread_wanted_at timestamptz,
      reread_attempts integer not null default 0,
      ask_attempts integer not null default 0,
      ask_pause_until timestamptz,
      ask_has_failed boolean not null default false
    );
    create index entitlement_reread_due_at on auth.entitlement (reread_due_at) where reread_due_at is not null;
    comment on table auth.entitlement is 'Whether the subscription of a person runs, as RevenueCat says.';
    comment on column auth.entitlement.ends_at is 'Null: there never was one. infinity: it never ends.';
    comment on column auth.entitlement.customer_id is 'The RevenueCat customer that is linked.';
    comment on column auth.entitlement.checked_at is 'When RevenueCat was heard last, by an event or an answer; null: never.';
    comment on column auth.entitlement.asked_at is 'When RevenueCat answered last, by the clock of the service.';
    comment on column auth.entitlement.snapshot_at is 'The date of that answer, by the clock of RevenueCat, which also dates events.';
    comment on column auth.entitlement.reread_due_at is 'RevenueCat is still to be asked, not before this.';
    comment on column auth.entitlement.reread_wanted_at is 'When the last event came that asked for it.';
    comment on column auth.entitlement.ask_attempts is 'How many questions in a row opened nothing.';
    comment on column auth.entitlement.ask_pause_until is 'RevenueCat is not asked on behalf of a call before this.';
    comment on column auth.entitlement.ask_has_failed is 'Whether the last question had no answer.';

    create table auth.subscription_snapshot (
      user_id uuid not null,
      product_id text not null,
      ends_at timestamptz not null,
      grace_until timestamptz,
      is_trial boolean not null,
      has_billing_issue boolean not null,
      will_renew boolean not null,
      primary key (user_id, product_id)
    );
    comment on table auth.subscription_snapshot is 'What RevenueCat answered last, by product. infinity: it never ends.';

    create table auth.customer_lookup (
      customer_id text collate "C" primary key,
      user_id uuid not null,
      cause text not null check (cause in ('named', 'transfer')),
      linked_at timestamptz not null
    );
    create index customer_lookup_user_id on auth.customer_lookup (user_id);
    comment on table auth.customer_lookup is 'The one account that a RevenueCat customer is linked to, because RevenueCat said so.';
    comment on column auth.customer_lookup.customer_id is 'The id; sha256: and the hash of one that somebody had who is gone.';
    comment on column auth.customer_lookup.cause is 'named: among the aliases of the account. transfer: its purchases were handed on.';

    -- SHA-256 of the ids by which RevenueCat knows people who were deleted: what comes for them later keeps nothing that names them.
    -- One row for each id of a deleted account, for ever: subscriptions renew for years after the app is gone.
    create table auth.forgotten_customer (
      hash bytea primary key check (length(hash) = 32)
    );
    comment on table auth.forgotten_customer is 'Hashes of the RevenueCat customers of accounts that were deleted.';

    -- Kept for ever: an event that comes again years later is still known. Append only. Of events about nobody who has an account
    -- there is nothing but the id and the type.
    create table auth.webhook_event (
      event_id text collate "C" primary key,
      type text not null,
      is_sandbox boolean not null default false,
      occurred_at timestamptz,
      received_at timestamptz not null,
      customers text[] not null default '{}',
      transferred_from text[] not null default '{}',
      transferred_to text[] not null default '{}',
      all_customers text[] not null generated always as (customers || transferred_from || transferred_to) stored,
      product_id text not null default '',
      entitlements text[] not null default '{}',
      expires_at timestamptz,
      grace_until timestamptz,
      period text not null default '',
      reason text not null default '',
      body bytea not null default ''
    );
    create index webhook_event_all_customers on auth.webhook_event using gin (all_customers);
    comment on table auth.webhook_event is 'What RevenueCat posted, as it was read and as it came.';
    comment on column auth.webhook_event.occurred_at is 'By the clock of RevenueCat: the order in which events are taken. Null where only id and type are kept.';
    comment on column auth.webhook_event.body is 'As it was posted; empty where it names somebody who is gone.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        revoke all on auth.webhook_event, auth.forgotten_customer from parley_auth;
        grant select, insert, update, delete on auth.entitlement, auth.subscription_snapshot, auth.customer_lookup to parley_auth;
        grant select, insert on auth.webhook_event, auth.forgotten_customer to parley_auth;
      end if;
    end $$;
    """#
}
