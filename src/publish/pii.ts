// Personal data in publications: each value is kept, hashed or dropped by the class of its column, while the package is written.
//
// A hash is the HMAC-SHA256 of the normalised value, so that equal addresses, names and telephone numbers join in all tables of
// a data folder's targets. Without the key nobody can test a guess. If the key is lost, a new one is created and targets are
// written from empty, with other hashes than before.
import { createHmac, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { quoteName, quoteText } from '../catalog/layout.ts'
import { FORMS, type PiiClass } from '../catalog/shape.ts'
import { type Actions, actionsIn, type PiiPolicy, policiesOf } from '../config/target-settings.ts'
import { hasCode, homeUnusable } from '../core/disk.ts'
import { ConvohouseError } from '../core/errors.ts'
import { ensureFile } from '../files/durable.ts'
import type { DescribedColumn } from '../warehouse/dictionary/dictionary.ts'

const KEY_BYTES = 32
const BLOCK_BYTES = 64

const keyFile = (home: string): string => join(home, 'publish', 'hash-key')

/** Returns the data folder's hash key, which is created on first use. @throws HOME_UNUSABLE */
export async function hashKey(home: string): Promise<Buffer> {
  const file = keyFile(home)
  await ensureFile(file, () => `${randomBytes(KEY_BYTES).toString('hex')}\n`)
  return (await readKey(file))!
}

/** @throws HOME_UNUSABLE if the key is damaged */
export const hasHashKey = async (home: string): Promise<boolean> => (await readKey(keyFile(home))) !== null

async function readKey(file: string): Promise<Buffer | null> {
  const text = await readFile(file, 'utf8').catch(cause => {
    if (hasCode(cause, 'ENOENT')) return null
    throw homeUnusable(file, cause)
  })
  if (text === null) return null
  const key = text.trim()
  if (/^[0-9a-f]{64}$/.test(key)) return Buffer.from(key, 'hex')
  throw new ConvohouseError('HOME_UNUSABLE', {
    what: `The key of hashes in ${file} is damaged: it is not ${2 * KEY_BYTES} hexadecimal digits.`,
    hint: 'Restore it from a backup. If you remove it, a new key is created: all hashes change, and targets are written from empty.',
  })
}

/** Returns a fingerprint that identifies a key without revealing it. */
export const fingerprintOf = (key: Buffer): string => createHmac('sha256', key).update('convohouse').digest('hex')

/** Returns the padded keys of HMAC's inner and outer hash. */
export function hmacPads(key: Buffer): { inner: Uint8Array; outer: Uint8Array } {
  const block = Buffer.concat([key, Buffer.alloc(BLOCK_BYTES - key.length)])
  return { inner: block.map(byte => byte ^ 0x36), outer: block.map(byte => byte ^ 0x5c) }
}

/** SQL variables that contain the pads, so that the key appears in no SQL text. */
export const PAD_VARIABLES = { inner: 'publish_inner', outer: 'publish_outer' } as const

/** Matches printable ASCII with single spaces: the common case, which only needs to be lower-cased. */
const PLAIN = '[!-~]+( [!-~]+)*'

/** Matches `Eve Miller <eve@example.com>`. */
const NAMED_ADDRESS = '[^<>]*<([^<>@ ]+@[^<>@ ]+)>'

/** Matches telephone numbers, compared by digits: `+49 (30) 123-456`, `004930123456`, `+49 (0)30 123456`. */
const TELEPHONE = '[+]?[(]?[+]?[0-9][0-9 ()./\\x{2010}-\\x{2015}-]{4,}'
const TRUNK_PREFIX = '^([(]?(?:[+]|00)[0-9 ()]*)[(]0[)]'
const DIGITS = '[0-9]{6,15}'
const IP_ADDRESS = '[0-9]{1,3}([.][0-9]{1,3}){3}'

/**
 * Returns the SQL of a text in its normal form, in which equal values have equal texts. Telephone numbers occur only
 * among contacts: versions, IP addresses and ids of staff may differ only in dots and zeros.
 */
function normalised(value: string, pii: PiiClass): string {
  const spaced = `trim(regexp_replace(nfc_normalize(regexp_replace(${value}, '\\p{Cf}', '', 'g')), '[\\s\\p{Z}]+', ' ', 'g'))`
  const text = `lower(CASE WHEN regexp_full_match(${value}, '${PLAIN}') THEN ${value} ELSE ${spaced} END)`
  const address = `WHEN ends_with(${text}, '>') AND regexp_full_match(${text}, '${NAMED_ADDRESS}')
    THEN regexp_extract(${text}, '${NAMED_ADDRESS}', 1)`
  if (pii !== 'identity') return `CASE ${address} ELSE ${text} END`
  const digits = `regexp_replace(regexp_replace(regexp_replace(${text}, '${TRUNK_PREFIX}', '\\1'), '[^0-9]', '', 'g'), '^00', '')`
  return `CASE ${address}
    WHEN regexp_full_match(${text}, '${TELEPHONE}') AND regexp_full_match(${digits}, '${DIGITS}') AND NOT regexp_full_match(${text}, '${IP_ADDRESS}')
    THEN ${digits} ELSE ${text} END`
}

/** An empty text means that there is no value. It stays empty, since its hash would match those of all other empty texts. */
const hmac = (text: string): string =>
  `CASE WHEN ${text} = '' THEN '' ELSE sha256(getvariable('${PAD_VARIABLES.outer}') || unhex(sha256(getvariable('${PAD_VARIABLES.inner}') || encode(${text})))) END`

/** `close`: a text without the form of its class becomes `unknown`. */
type Action = 'keep' | 'hash' | 'drop' | 'close'

const isForm = (pii: PiiClass): pii is keyof typeof FORMS => Object.hasOwn(FORMS, pii)

const closing = ({ content }: Actions): Action => (content === 'keep' ? 'keep' : 'close')

/** True for a column in which different values may be published as equal ones. */
export const mayCollide = ({ pii }: Pick<DescribedColumn, 'pii'>): boolean => pii !== 'none' && pii !== 'label'

/** JSON and lists may contain anything, so they are dropped where their class is hashed. */
export function actionOf({ pii, sqlType }: Pick<DescribedColumn, 'pii' | 'sqlType'>, policy: Actions): Action {
  const action = pii === 'none' ? 'keep' : isForm(pii) ? closing(policy) : policy[pii]
  return action !== 'keep' && sqlType !== 'VARCHAR' ? 'drop' : action
}

const closed = (value: string, form: string): string =>
  `CASE WHEN ${value} = '' OR regexp_full_match(${value}, '${form}') THEN ${value} WHEN ${value} IS NOT NULL THEN 'unknown' END`

const STRICTEST: readonly Action[] = ['drop', 'hash', 'close', 'keep']

/**
 * Returns the published SQL value of a column of row `t`. Dropped columns are NULL, so tables have the same columns
 * under every policy. Rows that do not show their workspace get the strictest action.
 */
export function publishedValue(column: DescribedColumn, policy: PiiPolicy, isOfWorkspace = true): string {
  const actions = policiesOf(policy).map(one => actionOf(column, one))
  const strictest = valueAfter(column, STRICTEST.find(action => actions.includes(action))!)
  if (!isOfWorkspace || new Set(actions).size === 1) return strictest
  const own = Object.keys(policy.workspaces!).map(
    id => `WHEN ${quoteText(id)} THEN ${valueAfter(column, actionOf(column, actionsIn(policy, id)))}`,
  )
  return `CASE t.workspace_id ${own.join(' ')} ELSE ${valueAfter(column, actions[0]!)} END`
}

function valueAfter(column: DescribedColumn, action: Action): string {
  const value = `t.${quoteName(column.name)}`
  switch (action) {
    case 'keep':
      return value
    case 'drop':
      return `NULL::${column.sqlType}`
    case 'close':
      return closed(value, FORMS[column.pii as keyof typeof FORMS])
    case 'hash':
      return hmac(normalised(value, column.pii))
  }
}

export const needsKey = (policy: PiiPolicy): boolean =>
  policiesOf(policy).some(actions => Object.values(actions).includes('hash'))
