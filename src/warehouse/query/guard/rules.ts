// The names that a caller's SQL may use. Table functions are allowed one by one, because most of them read files and new DuckDB versions
// add more. The hundreds of other functions are allowed, except those that have effects or access something outside the warehouse.

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
 * `json_serialize_plan` binds its SQL and so opens the files that it names; `current_setting` loads extensions.
 * `json_structure`, `json_group_structure`, `json_contains` and `json_merge_patch` recurse into a value: a deeply
 * nested one, which the vendor may send, crashes the process.
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

/** Families of functions, including future ones, that read files, have effects, or show how the process is configured. */
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

/** True if the function is allowed in FROM. */
export function isAllowedTableFunction(name: string): boolean {
  return TABLE_FUNCTIONS.has(name.toLowerCase())
}

/** True if the function is allowed in expressions. */
export function isAllowedFunction(name: string): boolean {
  const lower = name.toLowerCase()
  return !REFUSED_FUNCTIONS.has(lower) && !REFUSED_FAMILIES.some(family => family.test(lower))
}

/** True for a function that shows names or statistics of tables, also of those that the caller may not read. */
export const describesDatabase = (name: string): boolean => /^(duckdb|pragma)_/i.test(name)

export function isAllowedTable(table: string): boolean {
  return !REFUSED_TABLES.has(table.toLowerCase())
}

/**
 * True for a name that DuckDB may open as a file. If no such table exists, it opens names with a file extension
 * (`x.csv`), an address (`s3://…`) or a wildcard. Each of them contains one of these characters.
 */
export function looksLikeFile(table: string): boolean {
  return /[./\\:*?[\]]/.test(table)
}
