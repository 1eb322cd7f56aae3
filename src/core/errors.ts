// Every error that convohouse raises on purpose: one table of codes, one class.
//
// Codes are stable: scripts and alerts may match on them. `docs/errors.md` documents each one, and a test compares the two in both
// directions. Whether an error may be retried is part of its definition, never guessed from its text.

export type ErrorKind =
  | 'input' // the caller's input is invalid: correct it
  | 'access' // the vendor, or `serve`, refuses this caller: fix the account or the token
  | 'budget' // the quota or the hourly requests are spent: wait, or raise the limit
  | 'vendor' // the vendor's answer does not match its API documentation
  | 'transient' // may succeed when tried again
  | 'storage' // the data folder or the warehouse cannot be used in its current state

/** Process exit codes by kind; `docs/errors.md` lists them for scripts. */
export const EXIT_CODES = {
  ok: 0,
  unexpected: 1,
  /** `doctor`: data is older than its schedule allows. */
  overdue: 1,
  input: 2,
  access: 3,
  vendor: 4,
  transient: 5,
  storage: 6,
  hourSpent: 7,
  periodSpent: 8,
  interrupted: 130,
} as const

interface ErrorDefinition {
  kind: ErrorKind
  exitCode: number
  title: string
}

const define = (kind: ErrorKind, title: string, exitCode?: number): ErrorDefinition => ({
  kind,
  title,
  exitCode: exitCode ?? (kind === 'budget' ? EXIT_CODES.hourSpent : EXIT_CODES[kind]),
})

export const ERRORS = {
  CONFIG_INVALID: define('input', 'The configuration has a value that cannot be used'),
  CONFIG_MISSING: define('input', 'A setting that this command needs is missing'),
  CONFIG_EXISTS: define('input', 'A configuration file already exists'),
  NODE_TOO_OLD: define('input', 'This Node is older than convohouse needs'),
  TOKEN_MISSING: define('input', 'The variable or file that contains the API token is absent or empty'),
  SECRET_MISSING: define('input', 'A secret, password or credentials file is absent or empty'),
  WEBHOOKS_UNCONFIGURED: define('input', 'No workspace has a webhook secret'),
  ADDRESS_IN_USE: define('input', 'Another program listens at an address for webhooks, metrics or figures'),
  FLAG_INVALID: define('input', 'A flag or argument has a value that cannot be used'),
  CONFIRMATION_NEEDED: define(
    'input',
    'The command may use most of the quota, bills, writes or deletes, and was not confirmed',
  ),
  WORKSPACE_UNKNOWN: define('input', 'No workspace with that id is configured'),
  AGENT_UNKNOWN: define('input', 'The workspace has no agent with that id'),
  RECORD_UNKNOWN: define('input', 'No such record is quarantined'),
  METRIC_INVALID: define('input', 'The metric cannot answer the request, or its declaration is wrong'),
  METRIC_UNKNOWN: define('input', 'No metric with that name is declared'),
  SQL_INVALID: define('input', 'DuckDB could not run the SQL'),
  SQL_REFUSED: define('input', 'The SQL is not one read-only SELECT'),
  QUERY_TIMEOUT: define('input', 'The SQL ran longer than its timeout'),
  QUERY_MEMORY: define('input', 'The SQL took the process far above its memory limit'),
  FORGET_REFUSED: define('input', 'A request to forget somebody names nobody, or too many'),
  QUERY_HELD: define('input', 'The same SQL has ended a process before, and is held'),
  TOO_MANY_QUERIES: define('transient', 'Too many queries are already running or waiting'),

  MODEL_INVALID: define('input', 'A file or the folder of models cannot be used'),
  MODEL_FAILED: define('input', 'The rows of a model could not be computed'),
  MODEL_BLOCKED: define('input', 'A model reads another one that is not built'),

  API_UNAUTHORIZED: define('access', 'The vendor does not accept the token (401)'),
  API_FORBIDDEN: define('access', 'The vendor refuses this workspace, most often because it has never paid (402, 403)'),
  API_NOT_FOUND: define('vendor', 'The vendor reports that the agent does not exist (404)'),
  API_BAD_REQUEST: define('vendor', 'The vendor rejects the request (other 4xx)'),
  API_PROTOCOL: define('vendor', 'The answer is not as documented, or answers another request'),
  API_RATE_LIMITED: define('transient', 'The hourly requests are used up (429)'),
  API_UNAVAILABLE: define('transient', 'The vendor failed or could not be reached (5xx, 425, connection)'),
  API_TIMEOUT: define('transient', 'The vendor did not answer in time, or reports a request timeout (408)'),
  API_NOT_JSON: define('transient', 'The answer is not JSON: truncated, or a page from a proxy'),

  HOUR_SPENT: define('budget', "This hour's requests are spent, and the sync does not wait", EXIT_CODES.hourSpent),
  PERIOD_SPENT: define('budget', 'The included sessions of the billing period are spent', EXIT_CODES.periodSpent),

  LANDING_TAKEN: define('storage', 'Another process has already landed that page'),
  LANDING_DIFFERS: define('storage', 'Workers of one task queue have different data folders'),
  LANDING_CORRUPT: define('storage', 'A landed file cannot be read'),
  SPOOL_CORRUPT: define('storage', 'The payload of a webhook event cannot be read'),
  LANDING_INCOMPLETE: define('storage', 'Loaded files are missing from the landing'),
  REPLAY_LOSES_ROWS: define('storage', 'A replay would lose rows'),
  LOAD_FAILED: define('storage', 'Landed files could not be loaded'),
  WAREHOUSE_LOCKED: define('storage', 'Another process holds the warehouse'),
  WAREHOUSE_ENDED: define('transient', 'The process that holds the warehouse ended while it ran the query'),
  WAREHOUSE_LAYOUT: define('storage', 'The warehouse has the layout of another version of convohouse'),
  WAREHOUSE_MISSING: define('storage', 'There is no warehouse yet'),
  WAREHOUSE_UNSOUND: define('storage', 'The warehouse violates one of its invariants'),
  HOME_UNUSABLE: define('storage', 'The data folder cannot be written'),

  TARGET_UNKNOWN: define('input', 'No target with that name is configured'),
  TARGET_LOCKED: define('transient', 'Another process holds the target'),
  TARGET_CHANGED: define('transient', 'Something else has changed the target'),
  TARGET_UNUSABLE: define('storage', 'The target cannot be read or written'),
  EXTENSION_UNAVAILABLE: define('storage', 'An extension of DuckDB that the target needs cannot be loaded'),
  PUBLICATION_FAILED: define('transient', 'A publication was aborted'),
  PUBLICATION_BLOCKED: define('storage', 'A failing check stops publications to the target'),
  PUBLICATION_DIFFERS: define('storage', 'A target does not contain what was published'),

  REQUEST_INVALID: define('input', 'A request to serve is not as its description (/openapi.json) says'),
  REQUEST_REFUSED: define('access', 'serve refuses requests of other hosts and pages'),
  NOT_SIGNED_IN: define(
    'access',
    'A request to serve has no valid token: none, or one that is unknown, expired or revoked',
  ),
  SCOPE_MISSING: define('access', 'The token of a request to serve does not have the scope'),
  TOO_MANY_REQUESTS: define('transient', 'More requests to serve than one token may send'),
  ACCESS_TOKEN_UNKNOWN: define('input', 'No token of serve has that name'),
  CONVERSATION_UNKNOWN: define('input', 'The snapshot has no such conversation'),
  SNAPSHOT_MISSING: define('transient', 'The snapshot that serve reads is not published yet'),

  SCHEDULE_MISSING: define('input', 'The workspace has no schedule on that Temporal server'),
  TEMPORAL_UNREACHABLE: define('transient', 'No Temporal server answers at the configured address'),

  INTERRUPTED: define('transient', 'Stopped on request; nothing is lost', EXIT_CODES.interrupted),
} as const satisfies Record<string, ErrorDefinition>

export type ErrorCode = keyof typeof ERRORS

export interface ErrorParts {
  /** Says in one sentence what is wrong, and where. Never contains a token or personal data. */
  what: string
  /** Tells the user in one imperative sentence what to do. */
  hint?: string | undefined
  cause?: unknown
  /** Facts for machines (status, agent, file); plain JSON. */
  facts?: Record<string, string | number | boolean | null>
}

export class ConvohouseError extends Error {
  readonly code: ErrorCode
  readonly hint: string | undefined
  readonly facts: Record<string, string | number | boolean | null>

  constructor(code: ErrorCode, parts: ErrorParts) {
    super(parts.what, parts.cause === undefined ? undefined : { cause: parts.cause })
    this.name = 'ConvohouseError'
    this.code = code
    this.hint = parts.hint
    this.facts = parts.facts ?? {}
  }

  get kind(): ErrorKind {
    return ERRORS[this.code].kind
  }

  get exitCode(): number {
    return ERRORS[this.code].exitCode
  }
}

/** True for a ConvohouseError with one of these codes. */
export function isCode(error: unknown, ...codes: ErrorCode[]): error is ConvohouseError {
  return error instanceof ConvohouseError && codes.includes(error.code)
}

const NOT_ANSWERED = ['API_UNAVAILABLE', 'API_TIMEOUT', 'API_NOT_JSON', 'API_RATE_LIMITED'] as const

/** True if the vendor may answer the same request later. */
export const isUnanswered = (error: unknown): boolean => isCode(error, ...NOT_ANSWERED)

/** Returns a ConvohouseError as data; null for any other error, such as a cancellation. */
export function failureOf(
  error: unknown,
): { code: ErrorCode; kind: ErrorKind; what: string; hint: string | null } | null {
  if (!(error instanceof ConvohouseError)) return null
  const { code, kind, message: what, hint = null } = error
  return { code, kind, what, hint }
}
