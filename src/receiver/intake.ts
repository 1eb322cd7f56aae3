// The intake: parses bodies and appends events to the spool. A result of `kept` means that the event is durable.
import { isUtf8 } from 'node:buffer'
import { ConvohouseError } from '../core/errors.ts'
import { canWrite, openSpool, type SpoolCommit } from '../spool/spool.ts'
import { type Authenticator, holdsSecret, makeAuthenticator, type WorkspaceSecrets } from './authenticate.ts'
import { type ParsedEvent, parseEvent } from './parse/parse-event.ts'
import { findSecret } from './parse/scan.ts'
import type { IntakeResult } from './refusals.ts'

/** Cuts a range out of a body in place. The bytes before the range are moved, because there are usually fewer of them than after it. */
function cutOut(body: Buffer, from: number, to: number): Buffer {
  const left = to - from
  body.copyWithin(left, 0, from)
  return body.subarray(left)
}

/**
 * Fast path: keeps an unambiguous body unchanged, minus the secret; the reader of the spool derives the event's ID and type. Null where the
 * body must be parsed. `addressed`: the workspace in the URL, if any. Overwrites `body` where it returns an event.
 */
export function parseAsSent(body: Buffer, addressed: string | null, authenticate: Authenticator): ParsedEvent | null {
  const member = isUtf8(body) ? findSecret(body) : null
  if (member === null) return null
  const { secret, from, to } = member
  const workspace = authenticate(secret, addressed)
  if (workspace === null) return { refused: 'wrong-secret' }
  const isElsewhere = (pattern: Buffer): boolean => {
    const first = body.indexOf(pattern)
    return (first >= 0 && first < from) || body.indexOf(pattern, to) >= 0
  }
  if (workspace.secretPatterns === null || workspace.secretPatterns.some(isElsewhere)) return null
  return { event: { id: null, type: null, workspaceId: workspace.id, payload: cutOut(body, from, to) } }
}

export interface Intake {
  /** Takes a body in chunks. `addressed`: the workspace in the URL, if any. */
  take(body: readonly Uint8Array[], addressed: string | null): Promise<IntakeResult>
  /** True where the received part of a body contains a valid secret. */
  isAuthentic(body: readonly Uint8Array[], addressed: string | null): boolean
  /** Replaces the valid secrets. */
  setSecrets(workspaces: readonly WorkspaceSecrets[]): void
  /** The workspace to which a refused request is attributed: the one in its URL, else the only one; null where unknown. */
  workspaceOf(addressed: string | null): string | null
  /** True where the spool's disk accepts a write. */
  canWrite(): Promise<boolean>
  /** Number of open segments. */
  openSegments(): number
  /** Resolves when all events are durable and sealed. */
  close(): Promise<void>
}

/** An intake that separates the fast path, which nearly all bodies take, from parsing, which takes three times as long. */
interface OwnIntake extends Intake {
  /** Null where the body is ambiguous and must be parsed. */
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

const joined = (chunks: readonly Uint8Array[]): Buffer =>
  chunks.length === 1 ? asBuffer(chunks[0]!) : Buffer.concat(chunks)

const kept = (): IntakeResult => 'kept'

function notKept(error: unknown): IntakeResult {
  if (error instanceof ConvohouseError) return 'disk-refuses'
  throw error
}

function addressedTo(workspaces: readonly WorkspaceSecrets[], addressed: string | null): string | null {
  const [only, ...others] = workspaces
  if (addressed === null) return others.length === 0 ? (only?.id ?? null) : null
  return workspaces.some(({ id }) => id === addressed) ? addressed : null
}

export function openIntake({ home, workspaces, onCommit }: IntakeOptions): OwnIntake {
  const spool = openSpool({ home, now: Date.now, ...(onCommit && { onCommit }) })
  let admitted = workspaces
  let authenticate = makeAuthenticator(workspaces)

  function store(parsed: ParsedEvent): Promise<IntakeResult> {
    if ('refused' in parsed) return Promise.resolve(parsed.refused)
    return spool.append({ ...parsed.event, receivedAtMs: Date.now() }).then(kept, notKept)
  }

  const takeFast: OwnIntake['takeFast'] = (body, addressed) => {
    const parsed = parseAsSent(joined(body), addressed, authenticate)
    return parsed && store(parsed)
  }
  const takeParsed: OwnIntake['takeParsed'] = (body, addressed) =>
    store(parseEvent(joined(body), addressed, authenticate))
  return {
    takeFast,
    takeParsed,
    take: (body, addressed) => takeFast(body, addressed) ?? takeParsed(body, addressed),
    isAuthentic: (body, addressed) => holdsSecret(body, addressed, authenticate),
    setSecrets(secrets) {
      admitted = secrets
      authenticate = makeAuthenticator(secrets)
    },
    workspaceOf: addressed => addressedTo(admitted, addressed),
    canWrite: () => canWrite(home),
    openSegments: () => spool.open(),
    close: () => spool.close(),
  }
}
