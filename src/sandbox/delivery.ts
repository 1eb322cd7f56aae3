// How answers go out: at once, late, behind one another, in half or not at all.
import type { ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'

interface Waiting {
  behindLater: boolean
  release(): void
}

export class Outbox {
  /** The time that answers tell, in ms; undefined: none. */
  private readonly now: () => number | undefined
  /** Answers that wait, by the number of their request. */
  private readonly waiting = new Map<number, Waiting>()
  private arrived = 0

  constructor(now: () => number | undefined) {
    this.now = now
  }

  /** Numbers requests in the order of their arrival, from 1. */
  arrive(): number {
    return ++this.arrived
  }

  /** Sends the answer to the request of that number, when its time has come. */
  async send(response: ServerResponse, answer: Answer, number: number): Promise<void> {
    const { holdMs = 0, behindLater = false } = answer.delivery ?? {}
    if (holdMs > 0) await this.hold(number, { holdMs, behindLater })
    await write(response, answer, this.now())
    for (const [earlier, { behindLater, release }] of this.waiting) if (behindLater && earlier < number) release()
  }

  /** Lets go of all that waits. */
  close(): void {
    for (const { release } of this.waiting.values()) release()
  }

  private async hold(number: number, { holdMs, behindLater }: { holdMs: number; behindLater: boolean }) {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>(release => {
      timer = setTimeout(release, holdMs)
      this.waiting.set(number, { behindLater, release })
    })
    clearTimeout(timer)
    this.waiting.delete(number)
  }
}

async function write(response: ServerResponse, answer: Answer, nowMs: number | undefined): Promise<void> {
  const { status, contentType, headers, body, delivery = {} } = answer
  if (delivery.sends === 'nothing') {
    response.destroy()
    return
  }
  const bytes = Buffer.from(body)
  response.sendDate = false
  response.writeHead(status, {
    ...headers,
    'Content-Type': contentType,
    'Content-Length': bytes.length,
    ...(nowMs !== undefined && { Date: new Date(nowMs + (delivery.dateOffsetMs ?? 0)).toUTCString() }),
  })
  if (delivery.sends !== 'half') {
    await new Promise<void>(resolve => response.once('close', resolve).end(bytes, resolve))
    return
  }
  await new Promise<void>(resolve =>
    response.once('close', resolve).write(bytes.subarray(0, bytes.length >>> 1), () => resolve()),
  )
  response.destroy()
}
