// One event to its address, once: the vendor never sends an event again.
import { Agent, request } from 'undici'

export interface Posted {
  url: string
  body: string
  timeoutMs: number
}

/** Connections to the configured address. */
export class Poster {
  private readonly agent = new Agent({ connections: 1_000, pipelining: 1 })

  /** The answer's status; 0 where none came in time, or not whole. */
  async post({ url, body, timeoutMs }: Posted): Promise<number> {
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', 'user-agent': 'convohouse-sandbox' },
        body,
        dispatcher: this.agent,
        headersTimeout: 0,
        bodyTimeout: 0,
        signal: AbortSignal.timeout(timeoutMs),
      })
      await answer.body.dump()
      return answer.statusCode
    } catch {
      return 0
    }
  }

  /** Gives up what is under way. */
  close(): Promise<void> {
    return this.agent.destroy()
  }
}
