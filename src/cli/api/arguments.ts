// Reads the arguments of an operation from flags.
import { readFile } from 'node:fs/promises'
import { idsIn, type Operation, type Parameter } from '../../client/api/operations.ts'
import type { Arguments } from '../../client/api/target.ts'
import { invalidFlag } from '../flags/values.ts'

export interface RequestFlags {
  agent?: string
  metric?: string
  org?: string
  job?: string
  page?: string
  query?: string[]
  body?: string
}

/** Flags of ids, by the name of the argument. The workspace comes from the configuration. */
const ID_FLAGS = { agentId: 'agent', metricId: 'metric', orgId: 'org', jobId: 'job', pageId: 'page' } as const

/** @throws FLAG_INVALID for a flag that the operation needs and lacks, or does not accept, and for a body that cannot be read */
export async function argumentsFrom(
  operation: Operation,
  flags: RequestFlags,
  workspaceId: string,
): Promise<Arguments> {
  const ids = idsOf(operation, flags)
  const body = await bodyOf(operation, flags.body)
  return {
    ...ids,
    ...(idsIn(operation).includes('workspaceId') && { workspaceId }),
    ...queryOf(operation, flags.query ?? []),
    ...body,
  }
}

function idsOf(operation: Operation, flags: RequestFlags): Record<string, string> {
  const needed = idsIn(operation)
  const found: Record<string, string> = {}
  for (const [id, flag] of Object.entries(ID_FLAGS)) {
    const value = flags[flag]
    if (needed.includes(id) && value === undefined)
      throw invalidFlag(`${operation.name} needs --${flag}.`, `Add --${flag} with the id as the vendor shows it.`)
    if (!needed.includes(id) && value !== undefined)
      throw invalidFlag(
        `${operation.name} takes no --${flag}.`,
        `Its request is ${operation.method} ${operation.path}.`,
      )
    if (value !== undefined) found[id] = value
  }
  return found
}

function queryOf({ name, query }: Operation, given: readonly string[]): Record<string, unknown> {
  const known = Object.keys(query)
  const names = new Set<string>()
  return Object.fromEntries(
    given.map(text => {
      const at = text.indexOf('=')
      const key = text.slice(0, at)
      if (at < 1) throw invalidFlag(`--query cannot be ${JSON.stringify(text)}.`, 'Give a name and a value: limit=5.')
      if (!known.includes(key)) {
        const hint = known.length > 0 ? `Its parameters are: ${known.join(', ')}.` : 'Omit --query.'
        throw invalidFlag(`${name} has no parameter ${JSON.stringify(key)}.`, hint)
      }
      if (names.has(key)) throw invalidFlag(`--query has ${key} twice.`, 'Separate several values with commas.')
      names.add(key)
      return [key, typedValue(query[key]!, text.slice(at + 1))]
    }),
  )
}

/** Converts the text to the parameter's type. A text of another type stays unchanged, and is refused with the other arguments. */
function typedValue({ type }: Parameter, text: string): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  return type === 'texts' || type === 'ids' ? text.split(',').map(part => part.trim()) : text
}

async function bodyOf({ name, body }: Operation, file: string | undefined): Promise<Record<string, unknown>> {
  const shape = `{"${body}": {…}}`
  if (body === null) {
    if (file === undefined) return {}
    throw invalidFlag(`${name} takes no --body.`, 'Omit --body.')
  }
  if (file === undefined) throw invalidFlag(`${name} needs --body.`, `Add --body with a file that holds ${shape}.`)
  const unusable = (what: string) =>
    invalidFlag(`The body in ${file === '-' ? 'standard input' : file} ${what}.`, `Give ${shape}.`)
  let parsed: unknown
  try {
    parsed = JSON.parse(await readText(file))
  } catch (cause) {
    // A parser's message quotes the text, which may contain secrets.
    if (cause instanceof SyntaxError) throw unusable('is not JSON')
    throw cause
  }
  const keys = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed) ? Object.keys(parsed) : []
  if (keys.length !== 1 || keys[0] !== body) throw unusable(`is not an object with the one key "${body}"`)
  return parsed as Record<string, unknown>
}

async function readText(file: string): Promise<string> {
  if (file === '-') {
    const pieces: Buffer[] = []
    for await (const piece of process.stdin) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces).toString()
  }
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw invalidFlag(`${file} cannot be read (${cause.code}).`, 'Give the path of a file, or - for standard input.')
  })
}
