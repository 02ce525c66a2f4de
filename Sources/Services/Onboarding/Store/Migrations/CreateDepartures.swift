extension OnboardingMigrations {
  static let createDepartures = #"""
    create table onboarding.departure (
      user_id uuid primary key,
      since timestamptz not null,
      until timestamptz not null
    );
    comment on table onboarding.departure is 'People whose accounts were deleted: nothing is taken for them any more.';
    comment on column onboarding.departure.until is 'Until when something of theirs may still be on its way. Then it is deleted once more, and this row goes.';

    do $$
    begin
      if exists (select from pg_roles where rolname = 'parley_onboarding') then
        grant select, insert, update, delete on onboarding.departure to parley_onboarding;
      end if;
    end $$;
    """#
}
