// Hostile ids: made around the plain one, so that each leads back to its conversation without a table of ids.
import type { HostileName } from './hostile-table.ts'

const AROUND = {
  'unicode-id': ['対話-é-🔥-', '-ñandú'],
  'odd-id': [`it's "odd"/\\ %25 & #1?=+;\n`, '/../<b>'],
  'comma-id': ['first,', ',last'],
} as const satisfies Partial<Record<HostileName, readonly [string, string]>>

type IdName = keyof typeof AROUND

export const ID_NAMES = Object.keys(AROUND) as IdName[]

export function hostileId(name: IdName, id: string): string {
  const [before, after] = AROUND[name]
  return `${before}${id}${after}`
}

/** The plain id within; the text itself where none is around it. */
export function plainId(text: string): string {
  const around = Object.values(AROUND).find(([before, after]) => text.startsWith(before) && text.endsWith(after))
  return around === undefined ? text : text.slice(around[0].length, text.length - around[1].length)
}
