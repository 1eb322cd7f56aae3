// `convohouse token`: creates, lists and revokes the tokens of `serve`. They take effect at once, also while `serve` runs.
import { Command } from 'commander'
import { openStores } from '../app/stores.ts'
import { ConvohouseError } from '../core/errors.ts'
import { DAY, MINUTE, momentText } from '../core/time.ts'
import { type AccessTokens, TOKEN_NAME } from '../landing/access-tokens.ts'
import { createToken, isExpired, SCOPES, type Scope } from '../serve/access/tokens.ts'
import { storageOf } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { duration, invalidFlag, oneOf } from './flags/values.ts'
import { grid, gridOnStdout } from './terminal/columns.ts'
import { log, print, printJson } from './terminal/print.ts'

const DEFAULT_SCOPES: readonly Scope[] = ['metrics', 'sql', 'health']
const DEFAULT_LIFE_MS = 90 * DAY

const subcommand = (name: string, about: string): Command =>
  addConfigFlag(new Command(name).description(about)).option('--json', 'one JSON object, for machines')

/** Reads scopes: after commas, or with the flag repeated. @throws FLAG_INVALID */
export const scopes = (text: string, before: Scope[] = []): Scope[] => [
  ...before,
  ...text.split(',').map(word => oneOf('--scope', SCOPES)(word.trim())),
]

const lifetime = (text: string): number | null =>
  text === 'never' ? null : duration('--expires', { min: MINUTE })(text)

export const define = (command: Command): Command =>
  command
    .addCommand(
      subcommand('create', 'create a token, and print it once')
        .argument('<name>', 'its name, such as that of the program that uses it')
        .option('--scope <scopes>', `some of ${SCOPES.join(', ')} (default: ${DEFAULT_SCOPES.join(',')})`, scopes)
        .option('--expires <duration>', 'how long it is valid, or never (default: 90d)', lifetime)
        .action(runCreate),
    )
    .addCommand(subcommand('list', 'list the tokens, with their last use').action(runList))
    .addCommand(subcommand('revoke', 'revoke a token, at once').argument('<name>').action(runRevoke))
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse token create notebook                                 for figures, SQL and the state of the pipeline
  $ convohouse token create assistant --scope metrics,content --expires 30d
  $ convohouse token list
  $ convohouse token revoke notebook

Scopes: \`metrics\` figures and lists of conversations, \`sql\` SQL, \`health\` the state of syncs and targets, \`content\` transcripts, names and
addresses too, as far as \`serve.pii\` keeps them. A running \`convohouse serve\` notices each change at once. Only the SHA-256 of a token is stored.`,
    )

interface TokenFlags {
  config?: string
  json?: boolean
}

const tokensAt = ({ config }: TokenFlags): AccessTokens => openStores(storageOf(config).home).accessTokens

/** @throws FLAG_INVALID, HOME_UNUSABLE */
async function runCreate(name: string, flags: TokenFlags & { scope?: Scope[]; expires?: number | null }) {
  if (!TOKEN_NAME.test(name))
    throw invalidFlag(`A token cannot have the name ${JSON.stringify(name)}.`, 'Use small letters, digits and dashes.')
  const nowMs = Date.now()
  const given = { name, scopes: [...new Set(flags.scope ?? DEFAULT_SCOPES)] }
  const lifeMs = flags.expires === undefined ? DEFAULT_LIFE_MS : flags.expires
  const expiresMs = lifeMs === null ? null : nowMs + lifeMs
  const token = await createToken(tokensAt(flags), { ...given, expiresMs })
  if (token === null)
    throw invalidFlag(`There is a token ${name} already.`, `Revoke it first (\`convohouse token revoke ${name}\`).`)
  if (flags.json) return printJson({ ...given, expiresAt: expiresMs && momentText(expiresMs), token })
  print(token)
  log(`Token ${name} for ${given.scopes.join(', ')}, ${validText(expiresMs, nowMs)}. It is not shown again.`)
}

const validText = (expiresMs: number | null, nowMs: number): string =>
  expiresMs === null
    ? 'never expires'
    : `${isExpired({ expiresMs }, nowMs) ? 'expired' : 'expires'} on ${momentText(expiresMs).slice(0, 10)}`

const COLUMNS = ['name', 'scopes', 'validity', 'last used (UTC)'].map(name => ({ name }))

/** @throws HOME_UNUSABLE */
async function runList(flags: TokenFlags): Promise<void> {
  const tokens = tokensAt(flags)
  const nowMs = Date.now()
  const list = async (name: string) => {
    const [stored, usedMs] = [await tokens.find(name), await tokens.lastUsedMs(name)]
    const validity = stored ? validText(stored.expiresMs, nowMs) : 'damaged: revoke it'
    const isValid = stored !== null && !isExpired(stored, nowMs)
    return { name, scopes: stored?.scopes ?? [], validity, isValid, lastUsedAt: usedMs && momentText(usedMs) }
  }
  const all = await Promise.all((await tokens.names()).map(list))
  if (flags.json) return printJson({ tokens: all })
  if (all.length === 0) return print('There is no token: `convohouse serve` answers this machine without one.')
  const cells = all.map(({ name, scopes, validity, lastUsedAt }) => [
    ...[name, scopes.join(', '), validity],
    lastUsedAt ? lastUsedAt.slice(0, 16).replace('T', ' ') : 'never',
  ])
  print(...grid(COLUMNS, cells, gridOnStdout()))
}

/** @throws ACCESS_TOKEN_UNKNOWN, HOME_UNUSABLE */
async function runRevoke(name: string, flags: TokenFlags): Promise<void> {
  const tokens = tokensAt(flags)
  if (!(await tokens.revoke(name)))
    throw new ConvohouseError('ACCESS_TOKEN_UNKNOWN', {
      what: `There is no token ${JSON.stringify(name)}.`,
      hint: '`convohouse token list` shows all tokens.',
    })
  const isLast = (await tokens.names()).length === 0
  if (flags.json) return printJson({ revoked: name })
  print(`Token ${name} is revoked.`)
  if (isLast) log('It was the last one: `convohouse serve` now answers this machine without a token.')
}
