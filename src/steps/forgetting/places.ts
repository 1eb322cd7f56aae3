// Every place in which a data folder may name a person, and what an erasure does there. A test fails if a data folder has a
// file or a table that no entry names, and if docs/privacy.md does not show these entries.

export interface Place {
  /** Files below the data folder (`*`: a name, `**`: any path), or tables. */
  names: readonly string[]
  /** What becomes of it. */
  what: string
  when: string
}

/** Files beside the warehouse that may name anybody: leftovers of killed processes, results in progress, statements of the shell. */
export const LEFTOVERS = ['tmp/**', 'query-parts/**', 'query-history']

const ERASED = 'while it erases'
const REBUILT = 'with the warehouse'

/** Files. The first entry that matches counts. */
export const FILE_PLACES: readonly Place[] = [
  {
    names: ['landing/.forgotten.key', 'landing/.forgotten.ndjson'],
    what: 'written: keyed hashes and counts, no value. Back both up with the landing, and keep the key secret',
    when: 'first',
  },
  {
    names: ['landing/**/.tmp-*', 'spool/**/.tmp-*'],
    what: 'files that a kill left half-written: removed once they are an hour old',
    when: 'while it erases, later by syncs',
  },
  {
    names: ['landing/*/conversations/**'],
    what: 'records are cut out of pages and bundles, and ids out of their heads; checksums and receipts are of what is left',
    when: ERASED,
  },
  { names: ['landing/*/failed/*'], what: 'answers that are not JSON: all are removed', when: ERASED },
  {
    names: [
      'landing/.id',
      'landing/.room/*',
      'landing/*/ledger/*',
      'landing/*/runs/*',
      'landing/*/upkeep',
      'landing/*/expired.ndjson',
    ],
    what: 'stay: leases, runs and upkeep, without ids of people',
    when: '',
  },
  {
    names: ['landing/*/*/*/**'],
    what: 'pages of other resources stay, except refusals (404) of ids that only conversations of the person supplied',
    when: ERASED,
  },
  {
    names: ['spool/*/drained/*.ndjson', 'spool/*/drained/*.ndjson.gz'],
    what: 'spaces replace events, and lines that nobody can read; other events keep their addresses',
    when: ERASED,
  },
  { names: ['spool/*/sealed/*.damaged', 'spool/*/abandoned/*.damaged'], what: 'all are removed', when: ERASED },
  { names: ['spool/*/sealed/*'], what: 'events, and lines that nobody can read, are removed', when: ERASED },
  {
    names: ['spool/*/open/*', 'spool/*/abandoned/*'],
    what: 'events are dropped before they are archived',
    when: 'when they are drained, seconds later; those that a kill left are drained first',
  },
  { names: ['spool/.refused.json', 'spool/*/drain-failure.json'], what: 'stay: counts and errors', when: '' },
  {
    names: ['warehouse.duckdb', 'warehouse.duckdb.wal'],
    what: 'a new file is built without the person, since DuckDB keeps the bytes of deleted rows in free blocks',
    when: 'after landing and spool',
  },
  {
    names: ['warehouse.replaced-*'],
    what: 'a warehouse of another layout: `forget` is refused until you delete it',
    when: '',
  },
  {
    names: LEFTOVERS,
    what: 'copies, spills, packages, results in progress, and the statements of the shell: all are removed',
    when: 'after the warehouse',
  },
  {
    names: ['serve/readers/**'],
    what: 'results in progress of `serve` and `mcp`, removed with their queries; those that a kill left, when either starts again',
    when: '',
  },
  {
    names: ['published/**', 'serve/**'],
    what: 'targets in the data folder are written from empty, and earlier versions are removed; a snapshot of `serve` that is no target is removed, and `serve` publishes it again',
    when: 'at the next publication, which `forget` begins at once',
  },
  {
    names: [
      'publish/**',
      'access-tokens/*',
      'held-statements.json',
      'query.sock',
      'temporal.json',
      'temporal.db*',
      'convohouse.yaml',
    ],
    what: 'stay: keys, tokens, settings, statements without values, and histories of Temporal, which contain ids',
    when: '',
  },
]

/** Tables of the warehouse. An entry also stands for the tables of the lists in its records. */
export const TABLE_PLACES: readonly Place[] = [
  {
    names: [
      ...['conversations', 'conversation_observations', 'conversation_patches', 'conversation_transcripts'],
      ...['conversation_model_histories', 'webhook_events', 'messages_received', 'leads', 'form_submissions'],
      ...['chat_delegations', 'bug_reports', 'clients', '_absences', '_measured_refreshes'],
    ],
    what: 'rows about the person are deleted; the change log passes it on',
    when: ERASED,
  },
  {
    names: [
      '_quarantine',
      '_issues',
      '_drift',
      '_checks',
      '_changes',
      '_windows',
      '_loads',
      '_requests',
      '_folders',
      '_covered',
    ],
    what: 'are built again from what is left; examples of checks are emptied',
    when: REBUILT,
  },
  {
    names: ['marts.*', 'models.*', '_people'],
    what: 'are computed again from what is left',
    when: REBUILT,
  },
  {
    names: [
      ...['agents', 'organizations', 'teams', 'tools', 'variables', 'audit_log', 'custom_metrics', 'voices'],
      ...['voice_providers', 'crawler_pages', '_layout', '_runs', '_full_exports_dropped', '_quota', '_workspaces'],
      ...['_change_log', '_consumers', '_marts', '_models', '_publications', '_response_rules', '_business_hours'],
      '_sla_targets',
    ],
    what: 'stay: agents and their staff, settings and bookkeeping; mentions of the person in them are listed by `forget`',
    when: '',
  },
]
