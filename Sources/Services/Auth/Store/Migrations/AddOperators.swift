extension AuthMigrations {
  static let addOperators = #"""
    alter table auth.account
      add column suspended_by text collate "C",
      add column suspension_reason text;
    comment on column auth.account.suspended_by is 'The identity in the certificate of the operator who did it.';
    comment on column auth.account.suspension_reason is 'Why, in the operator''s words.';
    -- How operators look for people.
    create index account_created_at on auth.account (created_at, user_id);
    create index account_email on auth.account (lower(email)) where email is not null;

    -- The defaults are for copies of the release before, which do not know the columns.
    alter table auth.activity
      add column actor text collate "C" not null default 'self',
      add column note text not null default '';
    comment on column auth.activity.actor is 'self: the person. Otherwise the identity in the certificate of the operator who did it.';
    comment on column auth.activity.note is 'The operator''s reason, in words.';
    -- How operators read the activity of all people; that of one person is the primary key.
    create index activity_id on auth.activity (id);
    """#
}
