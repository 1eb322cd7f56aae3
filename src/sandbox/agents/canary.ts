// Secrets of generated records. Each value holds this text, so that one search finds any that got through.

export const CANARY = 'canary-secret-'

/** A secret's value, telling where it came from. */
export function canary(place: string, agent: number): string {
  return `${CANARY}${place}-${agent + 1}`
}
