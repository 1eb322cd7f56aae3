// Bodies that are no JSON, or nested too deeply, but contain a valid secret: their text is kept as an event of the type
// `unreadable`, since the vendor never sends an event again.

import { isUtf8 } from 'node:buffer'
import { randomInt, timingSafeEqual } from 'node:crypto'
import { UNREADABLE_EVENT } from '../catalog/events/event-types.ts'
import { jsonFormsOf, redactForms, writtenForms } from '../client/redaction/redaction.ts'
import { textWithoutToken } from '../client/redaction/token-mask.ts'
import { canonicalJson } from '../json/canonical.ts'
import type { SpoolEvent } from '../spool/event-line.ts'
import type { WorkspaceSecrets } from './authenticate.ts'
import { eventId } from './parse-event.ts'

/** Returns the workspace whose secret occurs in a body, anywhere; undefined for none. */
export type SecretFinder = (body: Buffer, addressed: string | null) => WorkspaceSecrets | undefined

interface Wanted {
  workspace: WorkspaceSecrets
  bytes: Buffer
}

/** Random, so that no sender can compute a hash. */
const BASE = 2 * randomInt(2 ** 24, 2 ** 30) + 1

const extended = (hash: number, byte: number): number => (Math.imul(hash, BASE) + byte) | 0

/**
 * Compares hashes of every part of the body that has a secret's length: a search for the secret itself would take longer
 * where its beginning occurs, which lets a sender guess it byte by byte.
 */
function occurring(body: Buffer, length: number, wanted: ReadonlyMap<number, Wanted>): Wanted | undefined {
  let [hash, power] = [0, 1]
  for (let n = 0; n < length; n++) power = Math.imul(power, BASE)
  for (let end = 1; end <= body.length; end++) {
    hash = extended(hash, body[end - 1]!)
    if (end > length) hash = (hash - Math.imul(body[end - 1 - length]!, power)) | 0
    const found = end >= length ? wanted.get(hash) : undefined
    // A secret that begins like a valid one is another.
    const isWhole = !found || end === body.length || !/[\w-]/.test(String.fromCharCode(body[end]!))
    if (found && isWhole && timingSafeEqual(body.subarray(end - length, end), found.bytes)) return found
  }
  return undefined
}

export function makeSecretFinder(workspaces: readonly WorkspaceSecrets[]): SecretFinder {
  const byLength = new Map<number, Map<number, Wanted>>()
  for (const workspace of workspaces)
    for (const secret of workspace.secrets)
      for (const form of [secret, encodeURIComponent(secret.toWellFormed()), ...jsonFormsOf(secret)]) {
        const bytes = Buffer.from(form)
        const others = byLength.get(bytes.length) ?? new Map<number, Wanted>()
        byLength.set(bytes.length, others.set(bytes.reduce(extended, 0), { workspace, bytes }))
      }
  return (body, addressed) => {
    for (const [length, wanted] of byLength) {
      const found = occurring(body, length, wanted)?.workspace
      if (found && (addressed === null || addressed === found.id)) return found
    }
    return undefined
  }
}

/** Returns the event that keeps a body, without the secrets of its workspace. */
export function unreadableEvent(body: Buffer, { id: workspaceId, secrets }: WorkspaceSecrets) {
  const encoding = isUtf8(body) ? 'utf8' : 'latin1'
  const forms = writtenForms(secrets).map(form => Buffer.from(form).toString(encoding))
  const text = textWithoutToken(redactForms(body.toString(encoding), forms), secrets)
  const payload = Buffer.from(canonicalJson({ text }))
  const id = eventId({ type: UNREADABLE_EVENT, createdAt: null, payload })
  return { id, workspaceId, type: UNREADABLE_EVENT, payload } satisfies Omit<SpoolEvent, 'receivedAtMs'>
}
