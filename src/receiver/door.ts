// Whose an event is: the workspace's whose secret it carries. Every secret is compared, in constant time, whichever fits.
import { hash, timingSafeEqual } from 'node:crypto'
import { writtenForms } from '../vendor/redaction.ts'

export interface WorkspaceSecrets {
  id: string
  /** While one is exchanged, both are valid. */
  secrets: readonly string[]
}

export interface Opened extends WorkspaceSecrets {
  /** Every way in which its secrets may be written; null where one has characters that JSON means something else by. */
  forms: readonly Buffer[] | null
}

/** The workspace that the secret opens, among all or at the one that was addressed; null where it opens none. */
export type Door = (given: unknown, addressed: string | null) => Opened | null

/** Of graphic ASCII, and nothing that JSON escapes or puts between values: what is written so stands within one string. */
const PLAIN = /^(?:(?!["\\{}[\],:])[!-~])+$/

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

export function makeDoor(workspaces: readonly WorkspaceSecrets[]): Door {
  const keys = workspaces.flatMap(({ id, secrets }) => {
    const forms = secrets.every(secret => PLAIN.test(secret))
      ? writtenForms(secrets).map(form => Buffer.from(form))
      : null
    return secrets.map(secret => ({ workspace: { id, secrets, forms }, digest: digest(secret) }))
  })
  return (given, addressed) => {
    const told = digest(typeof given === 'string' ? given : '')
    let opened: Opened | null = null
    for (const { workspace, digest } of keys) {
      const fits = timingSafeEqual(told, digest)
      if (fits && (addressed === null || addressed === workspace.id)) opened = workspace
    }
    return opened
  }
}
