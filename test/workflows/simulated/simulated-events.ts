// Sends the vendor's events without a receiver process: this process parses them as the receiver does and appends them to the spool.

import { makeAuthenticator } from '../../../src/receiver/authenticate.ts'
import { parseEvent } from '../../../src/receiver/parse-event.ts'
import type { WorldEvent } from '../../../src/sandbox/events/event-types.ts'
import { Draw } from '../../../src/sandbox/world/random.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { type SimulatedApp, WORKSPACE } from './open-simulated-app.ts'

const SECRET = 'whsec_of_a_simulated_app'

/** The purpose of the draws, which no draw of the sandbox has. */
const DROPPED = 4_000

export interface EventSender {
  /** Sends the events between two times, then seals the spool. */
  send(afterMs: number, untilMs: number): Promise<void>
  /** Returns the number of events so far, and the number of dropped ones. */
  counts(): { events: number; dropped: number }
}

/** Draws which events are dropped. All others are appended to the spool, received at the time of their creation. */
export function openEventSender(
  { sandbox, config }: SimulatedApp,
  options: {
    /** Share of the events that are never sent. */
    dropped: number
    /** Called with each event, sent or not. */
    each?: (event: WorldEvent, isSent: boolean) => void
  },
): EventSender {
  const counts = { events: 0, dropped: 0 }
  const authenticator = makeAuthenticator([{ id: WORKSPACE, secrets: [SECRET] }])
  return {
    async send(afterMs, untilMs) {
      const spool = openSpool({ home: config.home, now: () => sandbox.clock.now() })
      const kept: Promise<void>[] = []
      for (const event of sandbox.world.events(afterMs, untilMs)) {
        const isSent = !new Draw(1, ++counts.events, DROPPED).chance(options.dropped)
        options.each?.(event, isSent)
        if (!isSent) {
          counts.dropped++
          continue
        }
        const body = Buffer.from(JSON.stringify({ ...event.payload, workspaceSecret: SECRET }))
        const checked = parseEvent(body, null, authenticator)
        if ('refused' in checked) throw new Error(`an event was refused: ${checked.refused}`)
        kept.push(spool.append({ ...checked.event, receivedAtMs: event.createdMs }))
      }
      await Promise.all(kept)
      await spool.close()
    },
    counts: () => ({ ...counts }),
  }
}
