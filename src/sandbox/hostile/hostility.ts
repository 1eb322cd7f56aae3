// Decides which conversations are hostile, and how: a function of rates, seed and index.
import type { ResolvedOptions } from '../options.ts'
import { paramOf, shareOf } from '../rates.ts'
import { conversationId, indexOfConversation } from '../world/identity.ts'
import { Draw, PURPOSE } from '../world/random.ts'
import {
  caseKeys,
  close,
  deepNesting,
  duplicateKeys,
  HOSTILE,
  HOSTILE_NAMES,
  type HostileName,
  hugeNumbers,
  hugeRecord,
  loneSurrogates,
  nulText,
  open,
  type Piece,
  sqlText,
  unknownFields,
  wrongTypes,
} from './mutations.ts'

export interface Hostility {
  /** No record is hostile. */
  isNone: boolean
  /** The record has no `ID` or is not an object. */
  isNameless(index: number): boolean
  /** The served `ID`; undefined if nameless. */
  idOf(index: number): string | undefined
  /** Undefined if no conversation has that `ID`. */
  indexOf(id: string): number | undefined
  /** Applies the mutations to a record's JSON text. */
  mutate(index: number, text: string): string
}

type Mutation = (piece: Piece, draw: Draw, param: number) => void

/** The mutations by name, except those of IDs and `no-object`, which `mutate` itself handles. */
const MUTATIONS: Partial<Record<HostileName, Mutation>> = {
  'wrong-types': wrongTypes,
  'huge-numbers': hugeNumbers,
  'sql-text': sqlText,
  'nul-text': nulText,
  'lone-surrogates': loneSurrogates,
  'unknown-fields': unknownFields,
  'case-keys': caseKeys,
  'duplicate-keys': duplicateKeys,
  'deep-nesting': deepNesting,
  'ts-nonsense': ({ record }, draw) => {
    record.ts = draw.pick<unknown>(['soon', -1, 1e20, true, [], {}])
  },
  'ts-missing': ({ record }) => {
    delete record.ts
  },
  'huge-record': hugeRecord,
  'no-id': ({ record }, draw) => {
    record.ID = draw.pick<unknown>([undefined, null, []])
  },
}

const NO_OBJECTS = ['null', '42', '"a record"', '[]', 'true'] as const

/** The rates must be valid; `options.ts` checks them. */
export function createHostility({ seed, hostile }: Pick<ResolvedOptions, 'seed' | 'hostile'>): Hostility {
  const names = HOSTILE_NAMES.filter(name => shareOf(hostile[name] ?? 0) > 0)
  /** Returns the draw for the mutation if the conversation is hostile in the way `name`; else undefined. */
  const drawIf = (index: number, name: HostileName): Draw | undefined => {
    const draw = new Draw(seed, index, PURPOSE.hostile + HOSTILE_NAMES.indexOf(name))
    return draw.chance(shareOf(hostile[name] ?? 0)) ? draw : undefined
  }
  /** The conversation's ID as served. If several kinds of hostile IDs apply, the first in the table wins. */
  const named = (index: number): string => {
    const plain = conversationId(seed, index)
    const name = ID_NAMES.find(one => drawIf(index, one) !== undefined)
    return name === undefined ? plain : hostileId(name, plain)
  }
  const isNameless = (index: number) =>
    names.length > 0 && (drawIf(index, 'no-id') !== undefined || drawIf(index, 'no-object') !== undefined)
  const idOf = (index: number) => (isNameless(index) ? undefined : named(index))

  return {
    isNone: names.length === 0,
    isNameless,
    idOf,
    indexOf(id) {
      const index = indexOfConversation(seed, names.length > 0 ? plainId(id) : id)
      return index !== undefined && idOf(index) === id ? index : undefined
    },
    mutate(index, text) {
      if (names.length === 0) return text
      const instead = drawIf(index, 'no-object')
      if (instead !== undefined) return instead.pick(NO_OBJECTS)
      const piece = open(text)
      piece.record.ID = named(index)
      for (const name of names) {
        const draw = drawIf(index, name)
        if (draw !== undefined)
          MUTATIONS[name]?.(piece, draw, paramOf(hostile[name]!) ?? HOSTILE[name].param?.default ?? 0)
      }
      return close(piece)
    },
  }
}

// Hostile IDs wrap the plain one, so that lookups need no table of IDs.

const AROUND = {
  'unicode-id': ['対話-é-🔥-', '-ñandú'],
  'odd-id': [`it's "odd"/\\ %25 & #1?=+;\n`, '/../<b>'],
  'comma-id': ['first,', ',last'],
} as const satisfies Partial<Record<HostileName, readonly [string, string]>>

type IdName = keyof typeof AROUND

const ID_NAMES = Object.keys(AROUND) as IdName[]

function hostileId(name: IdName, id: string): string {
  const [before, after] = AROUND[name]
  return `${before}${id}${after}`
}

/** The plain ID inside a hostile one; any other text is returned unchanged. */
function plainId(text: string): string {
  const around = Object.values(AROUND).find(([before, after]) => text.startsWith(before) && text.endsWith(after))
  return around === undefined ? text : text.slice(around[0].length, text.length - around[1].length)
}
