// Identifies an event's type. The API document lists the fields of each type, but not the field that names the type.
import { EVENT_TYPES, type EventName, type Mark, UNKNOWN_EVENT } from './event-types.ts'

/** Fields that may name the type; the first one with a known type counts. */
const NAMING_FIELDS = ['event', 'eventType', 'type', 'name'] as const

type Payload = Readonly<Record<string, unknown>>

const NAMES: ReadonlyMap<string, EventName> = new Map(EVENT_TYPES.map(({ name }) => [name, name]))

const holds = (payload: Payload, key: string): boolean => Object.hasOwn(payload, key) && payload[key] != null

const shows = (payload: Payload, { has = [], lacks = [], operation }: Mark): boolean =>
  has.every(key => holds(payload, key)) &&
  !lacks.some(key => holds(payload, key)) &&
  (operation === undefined || payload.operation === operation)

/** The type whose marks the payload shows, if it is the only one. */
function inferred(payload: Payload): EventName | undefined {
  const fitting = EVENT_TYPES.filter(({ marks }) => marks.some(mark => shows(payload, mark)))
  return fitting.length === 1 ? fitting[0]!.name : undefined
}

/** The known type that the field names, if any. */
function namedIn(payload: Payload, field: string): EventName | undefined {
  const named = payload[field]
  return typeof named === 'string' && Object.hasOwn(payload, field) ? NAMES.get(named) : undefined
}

/** The payload without the fields that name its type: they are known, so they must not count as drift. */
export const withoutTypeName = (payload: Payload): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(payload).filter(([key]) => !NAMING_FIELDS.some(field => field === key && namedIn(payload, key))),
  )

/** The type that the payload names; else the only type whose marks it shows; else `unknown`. */
export function eventTypeOf(payload: Payload): EventName | typeof UNKNOWN_EVENT {
  for (const field of NAMING_FIELDS) {
    const known = namedIn(payload, field)
    if (known !== undefined) return known
  }
  return inferred(payload) ?? UNKNOWN_EVENT
}
