// An event as it is sent: its payload, the workspace's secret, and what a fault makes of them.
import type { WorldEvent } from '../events/traffic.ts'
import type { Readings } from '../readings.ts'
import type { EventFate } from './event-faults.ts'
import { shapeEvent } from './event-shape.ts'

export interface Sender {
  secret: string
  readings: Readings
}

/** JSON text; of a fault it may have another secret, or be longer than anybody wants. */
export function bodyOf({ payload }: WorldEvent, { content }: EventFate, { secret, readings }: Sender): string {
  const workspaceSecret = content?.name === 'wrong-secret' ? WRONG_SECRET : secret
  const body = JSON.stringify({ ...shapeEvent(payload, readings), workspaceSecret })
  return content?.name === 'oversized' ? padded(body, content.param) : body
}

const WRONG_SECRET = 'not-the-secret-of-this-workspace'

function padded(body: string, bytes: number): string {
  const padding = Math.max(0, bytes - Buffer.byteLength(body) - '"padding":"",'.length)
  return `{"padding":"${'x'.repeat(padding)}",${body.slice(1)}`
}
