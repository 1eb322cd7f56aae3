// A conversation's `ID` contains its scrambled index, so that lookups need no table of IDs.
import { Draw, mix, PURPOSE } from './random.ts'

const ROUNDS = [0, 1, 2, 3] as const
const UUID = /^([0-9a-f]{8})-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const SHORT = /^conv_([0-9a-f]{8})[0-9a-f]{8}$/

/** Share of conversations whose ID is not a UUID. */
const SHORT_SHARE = 0.08

/** Returns the `ID` of the conversation of that index; different for every index below 2^32. */
export function conversationId(seed: number, index: number): string {
  const draw = new Draw(seed, index, PURPOSE.identity)
  const head = scramble(seed, index).toString(16).padStart(8, '0')
  if (draw.chance(SHORT_SHARE)) return `conv_${head}${draw.hex(8)}`
  const variant = draw.pick(['8', '9', 'a', 'b'])
  return `${head}-${draw.hex(4)}-4${draw.hex(3)}-${variant}${draw.hex(3)}-${draw.hex(12)}`
}

/** Returns the index of an `ID`; undefined if no conversation can have it. */
export function indexOfConversation(seed: number, id: string): number | undefined {
  const head = (UUID.exec(id) ?? SHORT.exec(id))?.[1]
  if (head === undefined) return undefined
  const index = unscramble(seed, Number.parseInt(head, 16))
  return conversationId(seed, index) === id ? index : undefined
}

/** Scrambles a word with a Feistel network over two halves of 16 bits: a bijection, inverted by running the rounds backwards. */
function scramble(seed: number, word: number): number {
  let left = word >>> 16
  let right = word & 0xffff
  for (const round of ROUNDS) [left, right] = [right, left ^ (mix(seed, right, round) & 0xffff)]
  return ((left << 16) | right) >>> 0
}

function unscramble(seed: number, word: number): number {
  let left = word >>> 16
  let right = word & 0xffff
  for (const round of ROUNDS.toReversed()) [left, right] = [right ^ (mix(seed, left, round) & 0xffff), left]
  return ((left << 16) | right) >>> 0
}
