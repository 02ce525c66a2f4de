extension AuthMigrations {
  static let createBrokerLedger = #"""
    -- The default is for copies of the release before, which do not know the column.
    alter table auth.token_issuance add column account text not null default '';
    comment on column auth.token_issuance.account is 'The service account that was impersonated; empty for the default token.';
    -- How an operator reads the ledger of a capability; that of a person is the primary key.
    create index token_issuance_capability on auth.token_issuance (capability, id);

    -- What people have had today, for the caps. Room on each page, so that an update touches no index.
    create table auth.capability_use (
      subject_hash text collate "C" not null,
      capability text collate "C" not null,
      day date not null,
      issued integer not null,
      asked integer not null,
      cap integer not null,
      granted integer not null,
      primary key (subject_hash, capability, day)
    ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
    create index capability_use_day on auth.capability_use using brin (day);
    comment on table auth.capability_use is 'How many tokens of a capability a person has been handed on a day, in UTC.';
    comment on column auth.capability_use.issued is 'How many, on that day.';
    comment on column auth.capability_use.asked is 'How many tokens the last statement asked for.';
    comment on column auth.capability_use.cap is 'How many it might have on the day.';
    comment on column auth.capability_use.granted is 'How many of those asked for it got.';

    create table auth.kill_switch (
      capability text collate "C",
      is_stopped boolean not null,
      reason text not null,
      changed_at timestamptz not null,
      changed_by text not null,
      subject_hash text collate "C" not null default '',
      primary key (capability, subject_hash)
    );
    comment on table auth.kill_switch is 'Capabilities whose tokens an operator has stopped or resumed; * is all of them.';
    comment on column auth.kill_switch.changed_by is 'The identity in the certificate of who did it.';
    comment on column auth.kill_switch.subject_hash is 'The person for whom, as in the ledger; empty for everybody.';

    -- Append only: what was done stays known.
    create table auth.kill_switch_change (
      id uuid primary key,
      capability text not null,
      is_stopped boolean not null,
      reason text not null,
      changed_at timestamptz not null,
      changed_by text not null,
      subject_hash text collate "C" not null default ''
    );
    comment on table auth.kill_switch_change is 'Every change of a kill switch.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_auth') then
        revoke all on auth.kill_switch, auth.kill_switch_change from parley_auth;
        grant select, insert, update, delete on auth.capability_use to parley_auth;
        grant select, insert, update on auth.kill_switch to parley_auth;
        grant select, insert on auth.kill_switch_change to parley_auth;
      end if;
    end $$;
    """#
}
