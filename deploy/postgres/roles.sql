-- The roles of a PostgreSQL database for published data: `publisher` writes, `reader` reads. To be run in that database by an administrator,
-- with the passwords in the environment; again at any time, for new passwords.
\getenv publisher_password PUBLISHER_PASSWORD
\getenv reader_password READER_PASSWORD
\set ON_ERROR_STOP on
SET client_min_messages = warning;

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'publisher') THEN CREATE ROLE publisher LOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'reader') THEN CREATE ROLE reader LOGIN; END IF;
END
$$;
-- Keeps the passwords out of the server's log, as far as the administrator may.
DO $$
BEGIN
  PERFORM set_config('log_statement', 'none', false), set_config('log_min_error_statement', 'panic', false),
    set_config('log_min_duration_statement', '-1', false);
EXCEPTION WHEN insufficient_privilege THEN
END
$$;
ALTER ROLE publisher PASSWORD :'publisher_password';
ALTER ROLE reader PASSWORD :'reader_password';

-- A dashboard's query that never ends would hold up publications, which wait for ten seconds at most.
ALTER ROLE reader SET statement_timeout = '60s';
ALTER ROLE reader SET default_transaction_read_only = on;

DO $$
BEGIN
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('GRANT CONNECT, CREATE, TEMPORARY ON DATABASE %I TO publisher', current_database());
  EXECUTE format('GRANT CONNECT ON DATABASE %I TO reader', current_database());
END
$$;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
-- For the schemas and tables that publications will create.
GRANT publisher TO CURRENT_USER;
ALTER DEFAULT PRIVILEGES FOR ROLE publisher GRANT USAGE ON SCHEMAS TO reader;
ALTER DEFAULT PRIVILEGES FOR ROLE publisher GRANT SELECT ON TABLES TO reader;
