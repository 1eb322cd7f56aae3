// Configuration: the only reader of the environment and of the config file. Invalid settings fail at the start, with a hint.
//
// One workspace needs no file: CONVOHOUSE_API_URL, CONVOHOUSE_API_TOKEN (or CONVOHOUSE_API_TOKEN_FILE), CONVOHOUSE_WORKSPACE and
// CONVOHOUSE_HOME are enough. Several workspaces are configured in `convohouse.yaml`, each with the variable or file that contains its
// token.
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, dirname, resolve } from 'node:path'
import { isMap, isSeq, LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { cleanEnvironment } from './config/environment.ts'
import { absolutePlace, type Environment, type SecretPlace, secretPlace, secretReader } from './config/kept-secret.ts'
import { problemsOf } from './config/problems.ts'
import { resourceSettings, resourceShape } from './config/resources.ts'
import { responseRuleShape, responseRules } from './config/response-rules.ts'
import { serveConfig, serveSettings } from './config/serve.ts'
import { publishConfig, publishSettings, targetConfigs, targets } from './config/targets.ts'
import { schedule, scheduleConfig, temporalConfig, temporalSettings } from './config/temporal.ts'
import {
  address,
  CONTROL_INSIDE,
  dataFolder,
  duration,
  filePath,
  hasControl,
  moment,
  size,
  timeZone,
} from './config/values.ts'
import {
  secretFiles,
  secretsInEnvironment,
  secretsReader,
  webhookConfig,
  webhookSecrets,
  webhookSettings,
} from './config/webhooks.ts'
import { ConvohouseError } from './core/errors.ts'
import { REFRESH_ON } from './core/planning/refresh-rule.ts'
import { proxyFor } from './core/proxy.ts'

export const CONFIG_FILE = 'convohouse.yaml'

/**
 * Returns DuckDB's memory limits. A log that a killed process left takes 256 KB for each column with rows, 430 MB for all tables. With 448
 * MB a sync's process peaked at 1,071 MiB for a million conversations. A replay loads larger batches; `memoryLimit` alone applies to both.
 */
const memoryLimits = (given: { memoryLimit?: string | undefined; replayMemoryLimit?: string | undefined } = {}) => ({
  memoryLimit: given.memoryLimit ?? '640MB',
  replayMemoryLimit: given.replayMemoryLimit ?? given.memoryLimit ?? '1GB',
})

export const DEFAULT_MEMORY_LIMITS = memoryLimits()

const HOUR_MS = 3_600_000

/** Node's timers fire at once if their delay exceeds 2^31 ms (24.8 days). */
const LONGEST_TIMEOUT_MS = 24 * 24 * HOUR_MS

const SHARE = 'must be a share from 0 to 0.9, such as 0.1 for a tenth'

const share = z.number({ error: SHARE }).min(0, SHARE).max(0.9, SHARE)

const apiUrl = z.string().refine(text => {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}, 'must be an http(s) address such as https://api.example.com, without a user or password')

const age = (days: number) => duration.refine(ms => ms >= days * 24 * HOUR_MS, `must be ${days}d at least`)
/** Pages expire by month, and so not within the month in which they landed. */
const retention = z.strictObject({ pages: age(31).optional(), events: age(7).optional() })

const workspace = z.strictObject({
  id: z.string().min(1),
  apiUrl,
  token: secretPlace('token'),
  webhooks: webhookSecrets.optional(),
  since: moment.optional(),
  ...resourceShape,
  ...responseRuleShape,
  schedule: schedule.optional(),
  settle: duration.prefault('2m'),
  mirrorLag: duration.prefault('2m'),
  timeZone: timeZone.default('UTC'),
  requestsPerHour: z.int().min(1).max(1_000_000).default(1_500),
  hour: duration.optional(),
  hourReserve: share.default(0.02),
  headReserve: share.optional(),
  quiet: duration.prefault('24h'),
  refreshOn: z.enum(REFRESH_ON).default('auto'),
  rereadHorizon: duration.prefault('7d'),
  rereadShare: share.default(0.02),
  sampleShare: share.default(0.002),
  retention: retention.prefault({}),
  pageSize: z.int().min(1).max(100).default(100),
  timeout: duration.refine(ms => ms <= LONGEST_TIMEOUT_MS, 'must be 24d at most').optional(),
})

/** The settings of the file. */
export const file = z.strictObject({
  home: filePath.optional(),
  memoryLimit: size.optional(),
  replayMemoryLimit: size.optional(),
  threads: z.int().min(1).max(256).optional(),
  temporal: temporalSettings.prefault({}),
  webhooks: webhookSettings.prefault({}),
  telemetry: address.optional(),
  checks: filePath.optional(),
  models: filePath.optional(),
  metrics: filePath.optional(),
  pages: filePath.optional(),
  extensions: filePath.optional(),
  publish: publishSettings.prefault({}),
  targets: targets.default([]),
  serve: serveSettings.optional(),
  workspaces: z.array(workspace).min(1, 'must name at least one workspace'),
})

export type WorkspaceConfig = ReturnType<typeof workspaceConfig>

/** The `source` of a configuration that is not read from a file. */
export const ENVIRONMENT = 'the environment'

export type Config = ReturnType<typeof configOf>

/** Returns a folder from a variable or the file. */
const folderAt = (given: string | undefined, base: string): string | null => (given ? resolve(base, given) : null)

function workspaceConfig(given: z.infer<typeof workspace>, folder: string, env: Environment) {
  const tokenKept = absolutePlace(given.token, folder)
  return {
    id: given.id,
    apiUrl: given.apiUrl,
    tokenKept,
    /** Reads the token from its variable or file. @throws TOKEN_MISSING */
    readToken: secretReader(tokenKept, env, { what: 'API token', code: 'TOKEN_MISSING' }),
    /** Reads the webhook secrets; null if none are configured. @throws SECRET_MISSING */
    readWebhookSecrets: secretsReader(given.webhooks, folder, env),
    webhookSecretFiles: secretFiles(given.webhooks, folder),
    /** Returns the proxy to the API; null for none. @throws CONFIG_INVALID */
    readProxy: () => proxyFor(new URL(given.apiUrl).origin, env),
    since: given.since ?? null,
    ...resourceSettings(given),
    /** The schedule on Temporal; null for none. */
    schedule: given.schedule ? scheduleConfig(given.schedule) : null,
    settleMs: given.settle,
    mirrorLagMs: given.mirrorLag,
    timeZone: given.timeZone,
    /** Business hours and service levels. */
    responseRules: responseRules(given),
    requestsPerHour: given.requestsPerHour,
    hourMs: given.hour ?? HOUR_MS,
    hourReserveShare: given.hourReserve,
    /** Share of the period's quota reserved for new conversations; null reserves what they are expected to need. */
    headReserveShare: given.headReserve ?? null,
    /** Minimum age of the last read before a conversation or a range is exported again. */
    quietMs: given.quiet,
    /** Changes that cause a refresh. */
    refreshOn: given.refreshOn,
    /** Maximum age of ranges that are read again because they may hide conversations. */
    rereadHorizonMs: given.rereadHorizon,
    /** Shares of the period's sessions that re-reads and samples may take; 0 for none. */
    rereadShare: given.rereadShare,
    sampleShare: given.sampleShare,
    /** Maximum age of pages and of event payloads; null keeps them forever. */
    retention: { pagesMs: given.retention.pages ?? null, eventsMs: given.retention.events ?? null },
    maxPage: given.pageSize,
    timeoutMs: given.timeout ?? 120_000,
  }
}

/** Returns the place of a problem: `workspaces[0].settle (line 7)`. */
function placeOf(path: readonly PropertyKey[], locate: (path: readonly PropertyKey[]) => number | null): string {
  const text = path
    .map(part => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')
  const line = locate(path)
  return `${text || 'the file'}${line === null ? '' : ` (line ${line})`}`
}

function parseFile(path: string): { value: unknown; locate: (path: readonly PropertyKey[]) => number | null } {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConvohouseError('CONFIG_MISSING', {
      what: `The configuration ${path} cannot be read.`,
      hint: 'Create one with `convohouse init`, or give its path with --config.',
      cause,
    })
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const invalid = (problem: string) =>
    new ConvohouseError('CONFIG_INVALID', {
      what: `${path} is not valid YAML: ${problem}`,
      hint: 'Correct the line; `convohouse init --print` shows an example.',
    })
  const [error] = document.errors
  // Some messages quote the text after a colon, which may be a token.
  if (error) throw invalid(error.message.split('\n')[0]!.replace(/: .*( at line \d+, column \d+:?)$/, '$1'))
  const locate = (keys: readonly PropertyKey[]): number | null => {
    for (let length = keys.length; length >= 0; length--) {
      const node = length === 0 ? document.contents : document.getIn(keys.slice(0, length) as (string | number)[], true)
      const range = (node as { range?: [number, number, number] } | null | undefined)?.range
      if (range && !(length < keys.length && (isMap(node) || isSeq(node)) && length === 0))
        return lines.linePos(range[0]).line
    }
    return null
  }
  try {
    return { value: document.toJS(), locate }
  } catch {
    // The original message quotes the alias, which may be a secret.
    throw invalid('an alias (`*name`) is undefined or expands to too much')
  }
}

function configOf(
  given: z.infer<typeof file>,
  { folder, env, source }: { folder: string; env: Environment; source: string },
) {
  const home = dataFolder(folder, env.CONVOHOUSE_HOME || given.home)
  const targets = targetConfigs(given.targets, { folder, home, file: source })
  const serve = serveConfig(given.serve, { home, targets, source })
  return {
    /** Absolute path of the data folder. */
    home,
    ...memoryLimits(given),
    threads: given.threads ?? availableParallelism(),
    temporal: temporalConfig(given.temporal),
    webhooks: webhookConfig(given.webhooks),
    /** Address at which processes without a receiver serve metrics; null for none unless `--telemetry` is given. */
    telemetry: given.telemetry ?? null,
    /** Absolute folder of the user's own checks; null for none. */
    checks: folderAt(env.CONVOHOUSE_CHECKS || given.checks, folder),
    /** Absolute folder of the user's models; null for none. */
    models: folderAt(env.CONVOHOUSE_MODELS || given.models, folder),
    /** Absolute folder of the user's metrics; null for none. */
    metrics: folderAt(env.CONVOHOUSE_METRICS || given.metrics, folder),
    /** Absolute folder of the user's pages of the dashboard; null for none. */
    pages: folderAt(env.CONVOHOUSE_PAGES || given.pages, folder),
    /** Absolute folder of DuckDB's extensions; null downloads them when a target needs them. */
    extensions: folderAt(env.CONVOHOUSE_EXTENSIONS || given.extensions, folder),
    publish: publishConfig(given.publish),
    /** Targets of publications. If there are none, nothing is published, and no change is logged. */
    targets: serve.isConfigured && serve.isOwn ? [...targets, serve.target] : targets,
    serve,
    workspaces: given.workspaces.map(one => workspaceConfig(one, folder, env)),
    /** Path of the file, or `the environment`. */
    source,
  }
}

/** Returns the places of texts with control characters, which no setting contains. */
function controlsIn(value: unknown, path: readonly PropertyKey[] = []): (readonly PropertyKey[])[] {
  if (typeof value === 'string') return hasControl(value) ? [path] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    hasControl(key) ? [path] : controlsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  )
}

function fromFile(path: string, env: Environment): Config {
  const { value, locate } = parseFile(path)
  const [control] = controlsIn(value)
  if (control !== undefined)
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `${path}: ${placeOf(control, locate)} ${CONTROL_INSIDE}.`,
      hint: 'Write the text on one line, without the character.',
    })
  const parsed = file.safeParse(value, { reportInput: true })
  if (!parsed.success) {
    const problems = problemsOf(parsed.error.issues).map(({ path, words }) => `${placeOf(path, locate)} ${words}`)
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `${path}: ${problems.join('; ')}.`,
      hint: '`convohouse init --print` shows every setting, with its meaning and default.',
    })
  }
  const folder = dirname(resolve(path))
  const ids = parsed.data.workspaces.map(one => one.id)
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice !== undefined) {
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `${path}: workspace ${JSON.stringify(twice)} is configured twice.`,
      hint: 'Remove one of the two.',
    })
  }
  return configOf(parsed.data, { folder, env, source: path })
}

const ENV_NAMES = { apiUrl: 'CONVOHOUSE_API_URL', token: 'CONVOHOUSE_API_TOKEN', id: 'CONVOHOUSE_WORKSPACE' } as const
/** Variable with the path of a file that contains the token, the way container platforms provide secrets. */
const TOKEN_FILE = `${ENV_NAMES.token}_FILE`

/** @throws CONFIG_INVALID if both variables are set */
function tokenInEnvironment(env: Environment): SecretPlace {
  const path = env[TOKEN_FILE]
  if (!path) return { env: ENV_NAMES.token }
  if (!env[ENV_NAMES.token]) return { file: path }
  throw new ConvohouseError('CONFIG_INVALID', {
    what: `${ENV_NAMES.token} and ${TOKEN_FILE} are both set.`,
    hint: 'Unset one of the two.',
  })
}

function fromEnvironment(env: Environment, cwd: string): Config {
  const token = tokenInEnvironment(env)
  const missing = Object.values(ENV_NAMES).filter(name => !env[name] && !(name === ENV_NAMES.token && 'file' in token))
  if (missing.length > 0) {
    throw new ConvohouseError('CONFIG_MISSING', {
      what: `There is no ${CONFIG_FILE} here, and ${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set.`,
      hint: 'Run `convohouse init` to write a configuration, set these variables, or try `convohouse demo`, which needs neither.',
    })
  }
  const only = {
    id: env[ENV_NAMES.id],
    apiUrl: env[ENV_NAMES.apiUrl],
    token,
    webhooks: secretsInEnvironment(env),
  }
  const parsed = file.safeParse({ workspaces: [only] })
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const name = ENV_NAMES[issue!.path[2] as keyof typeof ENV_NAMES] ?? 'The environment'
    throw new ConvohouseError('CONFIG_INVALID', { what: `${name} ${issue!.message}.`, hint: 'Correct it.' })
  }
  return configOf(parsed.data, { folder: cwd, env, source: ENVIRONMENT })
}

/**
 * Reads the configuration from the named file, else from the environment if it names an API address, else from
 * `convohouse.yaml` in the working folder.
 * @throws CONFIG_MISSING, CONFIG_INVALID, naming setting and line
 */
export function readConfig(options: { path?: string; env?: Environment; cwd?: string } = {}): Config {
  const env = cleanEnvironment(options.env ?? process.env)
  const cwd = options.cwd ?? process.cwd()
  const path = options.path || env.CONVOHOUSE_CONFIG
  if (path) return fromFile(resolve(cwd, path), env)
  if (!env[ENV_NAMES.apiUrl] && existsSync(resolve(cwd, CONFIG_FILE))) return fromFile(resolve(cwd, CONFIG_FILE), env)
  return fromEnvironment(env, cwd)
}

/** Returns the defaults for the data folder that CONVOHOUSE_HOME names, without workspaces; null if it is not set. */
export function readHomeConfig(given: Environment = process.env, cwd = process.cwd()): Config | null {
  const env = cleanEnvironment(given)
  if (!env.CONVOHOUSE_HOME) return null
  const defaults = file.omit({ workspaces: true }).parse({})
  return configOf({ ...defaults, workspaces: [] }, { folder: cwd, env, source: ENVIRONMENT })
}

/** Reads only the data folder, for commands that need no workspace. @throws CONFIG_INVALID */
export function readHome(options: { path?: string; env?: Environment; cwd?: string } = {}): string {
  const env = cleanEnvironment(options.env ?? process.env)
  const cwd = options.cwd ?? process.cwd()
  const named = options.path || env.CONVOHOUSE_CONFIG || (env[ENV_NAMES.apiUrl] ? undefined : CONFIG_FILE)
  if (named && existsSync(resolve(cwd, named))) return fromFile(resolve(cwd, named), env).home
  return dataFolder(cwd, env.CONVOHOUSE_HOME)
}

/** Returns the folder of custom checks that the environment names, for `check` without a configuration. */
export const readChecks = (env: Environment = process.env, cwd = process.cwd()): string | null =>
  folderAt(cleanEnvironment(env).CONVOHOUSE_CHECKS, cwd)

/** Returns the environment of this process, for processes that it starts. */
export const ownEnvironment = (): Environment => process.env

/** Returns the folders of the PATH. */
export const searchPath = (env: Environment = process.env): string[] =>
  (env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
