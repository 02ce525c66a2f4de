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
      checked_at timestamptz not null,
      asked_at timestamptz,
      snapshot_at timestamptz,
      reread_due_at timestamptz,
      reread_wanted_at timestamptz,
      reread_attempts integer not null default 0
    );
    create index entitlement_reread_due_at on auth.entitlement (reread_due_at) where reread_due_at is not null;
    comment on table auth.entitlement is 'Whether the subscription of a person runs, as RevenueCat says.';
    comment on column auth.entitlement.ends_at is 'Null: there never was one. infinity: it never ends.';
    comment on column auth.entitlement.customer_id is 'The RevenueCat customer that is linked.';
    comment on column auth.entitlement.checked_at is 'When RevenueCat was heard last, by an event or an answer.';
    comment on column auth.entitlement.asked_at is 'When RevenueCat answered last, by the clock of the service.';
    comment on column auth.entitlement.snapshot_at is 'The date of that answer, by the clock of RevenueCat, which also dates events.';
    comment on column auth.entitlement.reread_due_at is 'RevenueCat is still to be asked, not before this.';
    comment on column auth.entitlement.reread_wanted_at is 'When the last event came that asked for it.';

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
    comment on column auth.customer_lookup.cause is 'named: among the aliases of the account. transfer: its purchases were handed on.';

    -- Kept for ever: an event that comes again years later is still known. Append only.
    create table auth.webhook_event (
      event_id text collate "C" primary key,
      type text not null,
      is_sandbox boolean not null,
      occurred_at timestamptz not null,
      received_at timestamptz not null,
      customers text[] not null,
      transferred_from text[] not null,
      transferred_to text[] not null,
      all_customers text[] not null generated always as (customers || transferred_from || transferred_to) stored,
      product_id text not null,
      entitlements text[] not null,
      expires_at timestamptz,
      grace_until timestamptz,
      period text not null,
      reason text not null,
      body bytea not null
    );
    create index webhook_event_all_customers on auth.webhook_event using gin (all_customers);
    comment on table auth.webhook_event is 'What RevenueCat posted, as it was read and as it came.';
    comment on column auth.webhook_event.occurred_at is 'By the clock of RevenueCat: the order in which events are taken.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        revoke all on auth.webhook_event from parley_auth;
        grant select, insert, update, delete on auth.entitlement, auth.subscription_snapshot, auth.customer_lookup to parley_auth;
        grant select, insert on auth.webhook_event to parley_auth;
      end if;
    end $$;
    """#
}
