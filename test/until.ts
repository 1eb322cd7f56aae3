import { setTimeout as sleep } from 'node:timers/promises'

type Falsy = false | null | undefined | 0 | ''

/** Polls until `look` returns something truthy, and resolves with it. @throws after `withinMs`, naming the source of `look` */
export async function until<T>(
  look: () => T | Promise<T>,
  { everyMs = 50, withinMs = 300_000 }: { everyMs?: number; withinMs?: number } = {},
): Promise<Exclude<T, Falsy>> {
  for (const untilMs = performance.now() + withinMs; ; await sleep(everyMs)) {
    const found = await look()
    if (found) return found as Exclude<T, Falsy>
    if (performance.now() > untilMs) throw new Error(`not within ${withinMs / 1_000} s: ${look}`)
  }
}
