// Whose an event is: the workspace's whose secret it carries. Every secret is compared, in constant time, whichever fits.
import { timingSafeEqual } from 'node:crypto'
import { writtenForms } from '../vendor/redaction.ts'

export interface WorkspaceSecrets {
  id: string
  /** While one is exchanged, both are valid. */
  secrets: readonly string[]
}

export interface Authenticated extends WorkspaceSecrets {
  /** What stands wherever one of its secrets is written, in whichever way; null where one has characters that JSON means something else by. */
  secretPatterns: readonly Buffer[] | null
}

/** The workspace that the secret opens, among all or at the one that was addressed; null where it opens none. */
export type Authenticator = (given: unknown, addressed: string | null) => Authenticated | null

/** Of graphic ASCII, and nothing that JSON escapes or puts between values: what is written so stands within one string. */
const PLAIN = /^(?:(?!["\\{}[\],:])[!-~])+$/

const TRACE_BYTES = 8

/**
 * What is looked for of a way to write a secret: from where it has something that is no small letter, if enough is behind that. Each
 * letter like its first is a place to look at, and texts are full of small ones: it took four times as long.
 */
function traceOf(form: string): Buffer {
  const seldom = [/[^a-zA-Z0-9]/, /[^a-z]/].map(pattern => form.slice(0, 1 - TRACE_BYTES).search(pattern))
  return Buffer.from(form.slice(seldom.find(at => at >= 0) ?? 0))
}

/** So much longer than the longest secret that a longer text is never cut to a secret's length: a character takes up to four bytes. */
const MARGIN_BYTES = 4

/** A text, at the begin of bytes of which there are as many whatever it is; how many of them are its own. */
function writeOver(padded: Buffer, text: string): number {
  padded.fill(0)
  return padded.write(text)
}

export function makeAuthenticator(workspaces: readonly WorkspaceSecrets[]): Authenticator {
  const lengths = workspaces.flatMap(({ secrets }) => secrets.map(secret => Buffer.byteLength(secret)))
  const given = Buffer.alloc(Math.max(0, ...lengths) + MARGIN_BYTES)
  const keys = workspaces.flatMap(({ id, secrets }) => {
    const traces = secrets.every(secret => PLAIN.test(secret)) ? writtenForms(secrets).map(traceOf) : null
    return secrets.map(secret => {
      const padded = Buffer.alloc(given.length)
      return { workspace: { id, secrets, secretPatterns: traces }, length: writeOver(padded, secret), padded }
    })
  })
  return (told, addressed) => {
    const length = writeOver(given, typeof told === 'string' ? told : '')
    let opened: Authenticated | null = null
    for (const { workspace, length: own, padded } of keys) {
      const fits = timingSafeEqual(given, padded) && length === own
      if (fits && (addressed === null || addressed === workspace.id)) opened = workspace
    }
    return opened
  }
}
