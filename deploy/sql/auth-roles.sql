-- The two roles of parley-auth and their database, for an administrator who does not run `parley-auth migrate --bootstrap` as
-- superuser. Run it with psql as superuser; running it again changes nothing.
--
--   parley_auth_owner   owns the schema and migrates it
--   parley_auth         serves: no DDL, and on audit tables INSERT and SELECT only (granted by the migrations)
--
-- Neither has a password here: on one host the socket's peer authentication is enough. Elsewhere set one with \password.
\set ON_ERROR_STOP on
select 'create role parley_auth_owner login'
where not exists (select from pg_roles where rolname = 'parley_auth_owner')
\gexec
select 'create role parley_auth login connection limit 400'
where not exists (select from pg_roles where rolname = 'parley_auth')
\gexec
select 'create database parley owner parley_auth_owner encoding ''UTF8'' template template0'
where not exists (select from pg_database where datname = 'parley')
\gexec
revoke all on database parley from public;
grant connect, create, temporary on database parley to parley_auth_owner;
grant connect on database parley to parley_auth;
\connect parley
revoke create on schema public from public;
