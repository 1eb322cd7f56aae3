// One quick walk over a payload: whether it has to be gone through slowly, which hardly any has.
import { MAX_DEPTH } from '../catalog/exact-json.ts'
import { isSecret } from '../vendor/secret-names.ts'
import { findSuspicion, suspicionOf } from './suspicion.ts'

export interface Look {
  /** Nested deeper than anything that is read. */
  tooDeep: boolean
  /** A number that a double does not hold. */
  inexact: boolean
  /** A name, or what stands beside it, may be of a secret. */
  mayHoldSecret: boolean
}

const has = (object: object, ...keys: string[]): boolean => keys.some(key => key in object)

/** `{ key: "Authorization", value: … }`, or an entry of an audit log: what is a secret there, redaction finds out. */
function besideSecret(object: Readonly<Record<string, unknown>>): boolean {
  if (has(object, 'value', 'defaultValue'))
    return [object.key, object.name].some(own => typeof own === 'string' && findSuspicion(own) !== 'none')
  return typeof object.field === 'string' && has(object, 'oldValue', 'newValue')
}

function walk(value: unknown, look: Look, levels: number): void {
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
    const inner = object[key]
    const suspicion = suspicionOf(key)
    if (suspicion !== 'none' && (suspicion === 'always' || isSecret(key, inner))) look.mayHoldSecret = true
    if (typeof inner !== 'string') walk(inner, look, levels - 1)
  }
  if (besideSecret(object)) look.mayHoldSecret = true
}

export function lookOver(payload: object): Look {
  const look: Look = { tooDeep: false, inexact: false, mayHoldSecret: false }
  walk(payload, look, MAX_DEPTH)
  return look
}
