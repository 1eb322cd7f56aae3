// The configuration contains no secret: it names the variable or file of each, which is read when the secret is needed.
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { z } from 'zod'
import { ConvohouseError, type ErrorCode } from '../core/errors.ts'
import { CONTROL_INSIDE, filePath, hasControl } from './values.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** The place of a secret: a variable or a file. */
export type SecretPlace = { env: string } | { file: string }

export const secretPlace = (what: string) =>
  z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: filePath })], {
    error: `must be \`{ env: NAME }\` or \`{ file: PATH }\`: the place of the ${what}, not the ${what} itself`,
  })

/** Resolves a relative path from the folder of the configuration file. */
export const absolutePlace = (where: SecretPlace, folder: string): SecretPlace =>
  'env' in where ? where : { file: resolve(folder, where.file) }

/**
 * True for a name that looks like the secret itself instead of its variable or file: ten or more letters and digits in
 * a row. Errors do not show such a name.
 */
const mayBeSecretItself = (name: string): boolean =>
  (name.match(/[A-Za-z0-9]{10,}/g) ?? []).some(run => /\d/.test(run) && /[A-Za-z]/.test(run))

interface KeptSecret {
  /** The secret's name in messages: `API token`. */
  what: string
  code: Extract<ErrorCode, 'TOKEN_MISSING' | 'SECRET_MISSING'>
}

/** Returns a reader of the secret. If the secret is missing, the reader throws `code` and names the variable or file. */
export function secretReader(where: SecretPlace, env: Environment, { what, code }: KeptSecret): () => string {
  const missing = (problem: string, hint: string) => new ConvohouseError(code, { what: problem, hint })
  const unnamed = (kind: 'variable' | 'file', problem: string) =>
    missing(
      `The ${kind} configured for the ${what} ${problem}. Its name is not shown, because it may be the ${what} itself.`,
      `Enter the name of a ${kind} that contains the ${what}, not the ${what} itself.`,
    )
  const inVariable = (name: string) => {
    const value = env[name]?.trim()
    if (value) return value
    if (mayBeSecretItself(name)) throw unnamed('variable', 'is not set')
    throw missing(`The variable ${name}, which must contain the ${what}, is not set.`, `Set it: export ${name}=…`)
  }
  const inFile = (path: string) => {
    const value = textOf(path)
    if (value) return value
    if (value === undefined && mayBeSecretItself(basename(path))) throw unnamed('file', 'cannot be read')
    if (value === undefined)
      throw missing(
        `The file ${path}, which must contain the ${what}, cannot be read.`,
        `Create it with the ${what} as its only line, and mode 0600.`,
      )
    throw missing(
      `The file ${path}, which must contain the ${what}, is empty.`,
      `Put the ${what} into it, as its only line.`,
    )
  }
  return () => {
    const value = 'env' in where ? inVariable(where.env) : inFile(where.file)
    if (!hasControl(value)) return value
    throw new ConvohouseError('CONFIG_INVALID', {
      what: `The ${what} ${CONTROL_INSIDE}.`,
      hint: 'Set it again, without characters before, in or after it.',
    })
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
