// The intake: parses bodies and appends events to the spool. The result `kept` means that the event is durable.
import { ConvohouseError } from '../core/errors.ts'
import { canWrite, openSpool, type SpoolCommit } from '../spool/spool.ts'
import { makeAuthenticator, type WorkspaceSecrets } from './authenticate.ts'
import { type ParsedEvent, parseEvent, utf8Of } from './parse-event.ts'
import type { IntakeResult } from './refusals.ts'
import { makeSecretFinder, unreadableEvent } from './unreadable.ts'

export interface Intake {
  /** Parses and appends an event; if it is unreadable, but contains a valid secret, its text. `addressed`: the workspace in the URL, if any. */
  take(body: Buffer, addressed: string | null): Promise<IntakeResult>
  /** True if the received part of a body contains a valid secret. */
  isAuthentic(body: Buffer, addressed: string | null): boolean
  /** Replaces the valid secrets. */
  setSecrets(workspaces: readonly WorkspaceSecrets[]): void
  /** Returns the workspace to which a refused request is attributed: the one in its URL, else the only one; null if unknown. */
  workspaceOf(addressed: string | null): string | null
  /** True if the spool's disk accepts a write. */
  canWrite(): Promise<boolean>
  /** Number of open segments. */
  openSegments(): number
  /** Resolves when all events are durable and sealed. */
  close(): Promise<void>
}

interface IntakeOptions {
  /** The data folder. */
  home: string
  workspaces: readonly WorkspaceSecrets[]
  onCommit?: (commit: SpoolCommit) => void
}

function addressedTo(workspaces: readonly WorkspaceSecrets[], addressed: string | null): string | null {
  const [only, ...others] = workspaces
  if (addressed === null) return others.length === 0 ? (only?.id ?? null) : null
  return workspaces.some(({ id }) => id === addressed) ? addressed : null
}

/**
 * Maximum size of a body that is parsed although no secret is found in it. It may contain one with unusual escapes, but megabytes of
 * brackets from anyone parse to hundreds of megabytes.
 */
const UNPROVEN_BYTES = 1024 * 1024

export function openIntake({ home, workspaces, onCommit }: IntakeOptions): Intake {
  const spool = openSpool({ home, now: Date.now, ...(onCommit && { onCommit }) })
  let admitted = workspaces
  let authenticate = makeAuthenticator(workspaces)
  let findSecret = makeSecretFinder(workspaces)
  function parse(body: Buffer, addressed: string | null): ParsedEvent {
    const sender = findSecret(body, addressed)
    if (!sender && body.length > UNPROVEN_BYTES) return { refused: 'wrong-secret' }
    const parsed = parseEvent(body, addressed, authenticate)
    if (!sender || !('refused' in parsed)) return parsed
    return { event: unreadableEvent(body, sender) }
  }
  return {
    async take(body, addressed) {
      const parsed = parse(utf8Of(body), addressed)
      if ('refused' in parsed) return parsed.refused
      try {
        await spool.append({ ...parsed.event, receivedAtMs: Date.now() })
        return 'kept'
      } catch (error) {
        if (error instanceof ConvohouseError) return 'disk-refuses'
        throw error
      }
    },
    isAuthentic: (body, addressed) => findSecret(body, addressed) !== undefined,
    setSecrets(secrets) {
      admitted = secrets
      authenticate = makeAuthenticator(secrets)
      findSecret = makeSecretFinder(secrets)
    },
    workspaceOf: addressed => addressedTo(admitted, addressed),
    canWrite: () => canWrite(home),
    openSegments: () => spool.open(),
    close: () => spool.close(),
  }
}
