// The exchanges of a session with a person: the contact writes, the agent answers. The first stands at the session's start,
// the last answer at its end.
import { SECOND } from '../core/time.ts'
import { Draw, PURPOSE } from './random.ts'

export interface Span {
  startMs: number
  endMs: number
}

export interface Exchange {
  askedMs: number
  answeredMs: number
}

/** Of a session whose draw has given its model. */
export const drawExchanges = (draw: Draw): number => draw.logarithmic(2, 30)

/** How many exchanges the session comes to by its end; for one with a person in it. */
export function exchangeCount(seed: number, index: number, session: number): number {
  const draw = new Draw(seed, index, PURPOSE.session + session)
  draw.word() // spent on the model
  return drawExchanges(draw)
}

/** All of them, in order; no two answers in the same millisecond, and each question behind the answer before. */
export function exchangesOf(draw: Draw, count: number, { startMs, endMs }: Span): Exchange[] {
  const slotMs = (endMs - startMs) / (count - 1)
  const exchanges: Exchange[] = [{ askedMs: startMs, answeredMs: startMs }]
  for (let number = 1; number < count; number++) {
    const shift = number === count - 1 ? 0 : (draw.unit() - 0.5) * 0.8
    const answeredMs = number === count - 1 ? endMs : Math.round(startMs + (number + shift) * slotMs)
    const gapMs = answeredMs - exchanges.at(-1)!.answeredMs
    exchanges.push({ askedMs: answeredMs - Math.min(draw.int(SECOND, 9 * SECOND), gapMs >>> 1), answeredMs })
  }
  return exchanges
}
