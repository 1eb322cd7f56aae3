// Takes bodies in: each is judged, and what is an event is on the disk before it is said to be kept.
import { ConvohouseError } from '../core/errors.ts'
import { canWrite, openSpool, type SpoolCommit } from '../spool/spool.ts'
import { takeAsSent } from './as-sent.ts'
import { makeAuthenticator, type WorkspaceSecrets } from './authenticate.ts'
import { type ParsedEvent, parseEvent } from './parse-event.ts'
import { holdsSecret } from './partial-secret.ts'
import type { Verdict } from './refusals.ts'

export interface Intake {
  /** A body in pieces. `addressed`: the workspace in the address, if any. */
  take(body: readonly Uint8Array[], addressed: string | null): Promise<Verdict>
  /** True where a valid secret is among what has come of a body. */
  isAuthentic(body: readonly Uint8Array[], addressed: string | null): boolean
  /** From now on these secrets are valid, and no other. */
  admit(workspaces: readonly WorkspaceSecrets[]): void
  /** Whose a refused request was: the workspace's in its address, else the only one's; null where nobody knows. */
  meantFor(addressed: string | null): string | null
  /** True where the disk takes bytes. */
  canWrite(): Promise<boolean>
  /** Segments that are open. */
  openSegments(): number
  /** Ends when all that was taken is durable and sealed. */
  close(): Promise<void>
}

/** Tells quick bodies, which nearly all are, from others, which take three times as long. */
export interface OwnIntake extends Intake {
  /** Null where the body is in doubt. */
  takeQuick(body: readonly Uint8Array[], addressed: string | null): Promise<Verdict> | null
  takeInDoubt(body: readonly Uint8Array[], addressed: string | null): Promise<Verdict>
}

export interface IntakeOptions {
  /** The data folder. */
  home: string
  workspaces: readonly WorkspaceSecrets[]
  onCommit?: (commit: SpoolCommit) => void
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

const whole = (pieces: readonly Uint8Array[]): Buffer =>
  pieces.length === 1 ? asBuffer(pieces[0]!) : Buffer.concat(pieces)

const kept = (): Verdict => 'kept'

function notKept(error: unknown): Verdict {
  if (error instanceof ConvohouseError) return 'disk-refuses'
  throw error
}

function meantFor(workspaces: readonly WorkspaceSecrets[], addressed: string | null): string | null {
  const [only, ...others] = workspaces
  if (addressed === null) return others.length === 0 ? (only?.id ?? null) : null
  return workspaces.some(({ id }) => id === addressed) ? addressed : null
}

export function openIntake({ home, workspaces, onCommit }: IntakeOptions): OwnIntake {
  const spool = openSpool({ home, now: Date.now, ...(onCommit && { onCommit }) })
  let awaited = workspaces
  let door = makeAuthenticator(workspaces)

  function keep(judged: ParsedEvent): Promise<Verdict> {
    if ('refused' in judged) return Promise.resolve(judged.refused)
    return spool.append({ ...judged.event, receivedAtMs: Date.now() }).then(kept, notKept)
  }

  const takeQuick: OwnIntake['takeQuick'] = (body, addressed) => {
    const judged = takeAsSent(whole(body), addressed, door)
    return judged && keep(judged)
  }
  const takeInDoubt: OwnIntake['takeInDoubt'] = (body, addressed) => keep(parseEvent(whole(body), addressed, door))
  return {
    takeQuick,
    takeInDoubt,
    take: (body, addressed) => takeQuick(body, addressed) ?? takeInDoubt(body, addressed),
    isAuthentic: (body, addressed) => holdsSecret(body, addressed, door),
    admit(admitted) {
      awaited = admitted
      door = makeAuthenticator(admitted)
    },
    meantFor: addressed => meantFor(awaited, addressed),
    canWrite: () => canWrite(home),
    openSegments: () => spool.open(),
    close: () => spool.close(),
  }
}
