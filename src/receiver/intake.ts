// Takes bodies in: each is judged, and what is an event is on the disk before it is said to be kept.
import { ConvohouseError } from '../core/errors.ts'
import { canWrite, openSpool, type SpoolCommit } from '../spool/spool.ts'
import { makeAuthenticator, type WorkspaceSecrets } from './authenticate.ts'
import { parseAsSent } from './parse/as-sent.ts'
import { type ParsedEvent, parseEvent } from './parse/parse-event.ts'
import { holdsSecret } from './partial-secret.ts'
import type { IntakeResult } from './refusals.ts'

export interface Intake {
  /** A body in pieces. `addressed`: the workspace in the address, if any. */
  take(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult>
  /** True where a valid secret is among what has come of a body. */
  isAuthentic(body: readonly Uint8Array[], addressed: string | null): boolean
  /** From now on these secrets are valid, and no other. */
  setSecrets(workspaces: readonly WorkspaceSecrets[]): void
  /** Whose a refused request was: the workspace's in its address, else the only one's; null where nobody knows. */
  workspaceOf(addressed: string | null): string | null
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
  takeFast(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult> | null
  takeParsed(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult>
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

const kept = (): IntakeResult => 'kept'

function notKept(error: unknown): IntakeResult {
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
  let authenticate = makeAuthenticator(workspaces)

  function keep(judged: ParsedEvent): Promise<IntakeResult> {
    if ('refused' in judged) return Promise.resolve(judged.refused)
    return spool.append({ ...judged.event, receivedAtMs: Date.now() }).then(kept, notKept)
  }

  const takeQuick: OwnIntake['takeFast'] = (body, addressed) => {
    const judged = parseAsSent(whole(body), addressed, authenticate)
    return judged && keep(judged)
  }
  const takeInDoubt: OwnIntake['takeParsed'] = (body, addressed) =>
    keep(parseEvent(whole(body), addressed, authenticate))
  return {
    takeFast: takeQuick,
    takeParsed: takeInDoubt,
    take: (body, addressed) => takeQuick(body, addressed) ?? takeInDoubt(body, addressed),
    isAuthentic: (body, addressed) => holdsSecret(body, addressed, authenticate),
    setSecrets(admitted) {
      awaited = admitted
      authenticate = makeAuthenticator(admitted)
    },
    workspaceOf: addressed => meantFor(awaited, addressed),
    canWrite: () => canWrite(home),
    openSegments: () => spool.open(),
    close: () => spool.close(),
  }
}
