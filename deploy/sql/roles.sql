-- The two roles of a service, its schema and the database of all of them, for an administrator who does not run
-- `parley-<service> migrate --bootstrap` as superuser. Run it with psql as superuser, once for each service; running it again changes
-- nothing:
--
--   psql -v service=auth -f roles.sql
--
--   parley_<service>_owner   owns the schema and migrates it
--   parley_<service>         serves: no DDL, and only the rights to rows that the migrations leave it
--
-- Neither has a password here: on one host the socket's peer authentication is enough. Elsewhere set one with \password.
\set ON_ERROR_STOP on
\if :{?service}
\else
do $$ begin raise exception 'say which: psql -v service=auth -f roles.sql'; end $$;
\endif
select format('parley_%s', :'service') as serving, format('parley_%s_owner', :'service') as owner
\gset
select format('create role %I login', :'owner')
where not exists (select from pg_roles where rolname = :'owner')
\gexec
select format('create role %I login connection limit 400', :'serving')
where not exists (select from pg_roles where rolname = :'serving')
\gexec
select 'create database parley encoding ''UTF8'' template template0'
where not exists (select from pg_database where datname = 'parley')
\gexec
revoke all on database parley from public;
grant connect, create, temporary on database parley to :"owner";
grant connect on database parley to :"serving";
\connect parley
set client_min_messages = warning;
revoke create on schema public from public;
create schema if not exists :"service" authorization :"owner";
revoke all on schema :"service" from public;
grant usage on schema :"service" to :"serving";
alter default privileges for role :"owner" in schema :"service" grant select, insert, update, delete on tables to :"serving";
alter default privileges for role :"owner" in schema :"service" grant usage, select on sequences to :"serving";
alter default privileges for role :"owner" in schema :"service" grant execute on functions to :"serving";
