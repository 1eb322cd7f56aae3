// Texts of a wanted length out of whole sentences, so that none ends within a character.
import type { Draw } from '../random.ts'
import type { Locale } from './locales.ts'
import { ENGLISH, ODDITIES } from './locales.ts'

/** Sentences until at least `characters` (UTF-16 units) are there; most of them in the locale's language. */
export function prose(draw: Draw, locale: Locale, characters: number): string {
  let text = sentence(draw, locale)
  while (text.length < characters) text += (draw.chance(0.12) ? '\n' : ' ') + sentence(draw, locale)
  return text
}

export function sentence(draw: Draw, locale: Locale): string {
  const unit = draw.unit()
  if (unit < 0.05) return draw.pick(ODDITIES)
  return draw.pick(unit < 0.3 ? ENGLISH.sentences : locale.sentences)
}

/** A time in one of the ways in which the API's string dates are written. */
export function dateText(draw: Draw, ms: number): string {
  const unit = draw.unit()
  if (unit < 0.65) return new Date(ms).toISOString()
  if (unit < 0.8) return new Date(ms).toISOString().slice(0, 10)
  return unit < 0.93 ? String(ms) : String(Math.floor(ms / 1_000))
}
