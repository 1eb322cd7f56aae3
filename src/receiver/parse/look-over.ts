// One quick walk over a payload: what else has to be done to it.
import { EVENT_SECRET } from '../../catalog/events.ts'
import { MAX_DEPTH } from '../../json/exact-json.ts'

export interface PayloadTraits {
  /** Nested deeper than anything that is read. */
  tooDeep: boolean
  /** A number that a double does not hold. */
  inexact: boolean
  /** The member that holds the workspace's secret stands somewhere inside. */
  hasSecretInside: boolean
}

function walk(value: unknown, look: PayloadTraits, levels: number): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value) && (!Number.isFinite(value) || Number.isInteger(value))) look.inexact = true
    return
  }
  if (typeof value !== 'object' || value === null) return
  if (levels === 0) {
    look.tooDeep = true
    return
  }
  if (Array.isArray(value)) {
    for (const element of value) if (typeof element !== 'string') walk(element, look, levels - 1)
    return
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    if (key === EVENT_SECRET) look.hasSecretInside = true
    const inner = object[key]
    if (typeof inner !== 'string') walk(inner, look, levels - 1)
  }
}

export function inspectPayload(payload: object): PayloadTraits {
  const look: PayloadTraits = { tooDeep: false, inexact: false, hasSecretInside: false }
  walk(payload, look, MAX_DEPTH)
  return look
}
