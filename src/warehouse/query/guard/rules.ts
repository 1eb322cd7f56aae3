// What a caller's SQL may name. Functions that make tables are listed one by one, since most of them read files, and a
// new DuckDB brings new ones; the hundreds of plain functions are allowed but for those that act or look outside.

const TABLE_FUNCTIONS = new Set([
  'unnest',
  'range',
  'generate_series',
  'repeat',
  'repeat_row',
  'json_each',
  'json_tree',
  'summary',
  'test_all_types',
  'duckdb_columns',
  'duckdb_constraints',
  'duckdb_functions',
  'duckdb_indexes',
  'duckdb_keywords',
  'duckdb_schemas',
  'duckdb_sequences',
  'duckdb_tables',
  'duckdb_types',
  'duckdb_views',
  'icu_calendar_names',
  'pg_timezone_names',
  'pragma_collations',
  'pragma_database_size',
  'pragma_show',
  'pragma_storage_info',
  'pragma_table_info',
  'pragma_version',
])

/**
 * `json_serialize_plan` binds the SQL it is given, and so opens the files that it names; `current_setting` loads extensions.
 * `json_structure`, `json_group_structure`, `json_contains` and `json_merge_patch` follow a value by recursion: a deep one, which may come
 * from the vendor, ends the process.
 */
const REFUSED_FUNCTIONS = new Set([
  'checkpoint',
  'current_setting',
  'force_checkpoint',
  'getenv',
  'glob',
  'json_contains',
  'json_execute_serialized_sql',
  'json_group_structure',
  'json_merge_patch',
  'json_deserialize_sql',
  'json_serialize_plan',
  'json_serialize_sql',
  'json_structure',
  'nextval',
  'query',
  'query_table',
  'sniff_csv',
  'sql_auto_complete',
  'which_secret',
])

/** Names of today's and tomorrow's functions that read files, act, or tell how the process is set up. */
const REFUSED_FAMILIES = [
  /^(read|write|copy|load|install|import|export|enable|disable|truncate|http|pragma|duckdb|parquet)_/,
  /^(set|reset|get)_config/,
  /_scan$/,
  /secret/,
  /^__internal_/,
]

/** Built-in views that show settings, logs, where files are, or other callers' SQL. */
const REFUSED_TABLES = new Set([
  'duckdb_databases',
  'duckdb_logs',
  'duckdb_secrets',
  'duckdb_settings',
  'pg_prepared_statements',
  'pg_settings',
  'pragma_database_list',
])

/** True where the function may stand in FROM. */
export function isAllowedTableFunction(name: string): boolean {
  return TABLE_FUNCTIONS.has(name.toLowerCase())
}

/** True where the function may stand anywhere in an expression. */
export function isAllowedFunction(name: string): boolean {
  const lower = name.toLowerCase()
  return !REFUSED_FUNCTIONS.has(lower) && !REFUSED_FAMILIES.some(family => family.test(lower))
}

export function isAllowedTable(table: string): boolean {
  return !REFUSED_TABLES.has(table.toLowerCase())
}

/**
 * True for a name that DuckDB could take for a file. Where a table is unknown, a name that ends like a file
 * (`x.csv`), is an address (`s3://…`) or holds a wildcard is opened as one; it needs one of these characters for it.
 */
export function looksLikeFile(table: string): boolean {
  return /[./\\:*?[\]]/.test(table)
}
