// A proxy between convohouse and the sandbox that sees each request, and may answer it or change its answer.
import { createServer } from 'node:http'
import { listening } from '../../ports.ts'

// biome-ignore lint/suspicious/noExplicitAny: the body is changed without types
type Body = any

/** A status or an answer replaces the sandbox's; `dropped` closes the connection; a function changes the body (a text is sent as it is); undefined forwards it. */
export type Reaction = 'dropped' | number | { status: number; body?: unknown } | ((body: Body) => unknown) | undefined

/** Starts the proxy and returns its URL; it is closed when the test ends. Without `upstream`, `see` must answer each request. */
export async function observingProxy(
  upstream: string | null,
  see: (url: URL, method: string) => Reaction,
): Promise<string> {
  const server = createServer({ maxHeaderSize: 64 * 1024 }, async (request, response) => {
    // The server's own `Date` header would not follow the sandbox's clock.
    response.sendDate = false
    const url = new URL(request.url ?? '/', upstream ?? 'http://vendor')
    const reaction = see(url, request.method!)
    if (reaction === 'dropped') return void response.destroy()
    if (typeof reaction === 'number') return void response.writeHead(reaction).end()
    if (typeof reaction === 'object')
      return void response.writeHead(reaction.status).end(JSON.stringify(reaction.body ?? {}))
    const answer = await fetch(url, { headers: { authorization: request.headers.authorization ?? '' } })
    const headers = { 'content-type': 'application/json', date: answer.headers.get('date') ?? '' }
    const bytes = Buffer.from(await answer.arrayBuffer())
    const changed = reaction && answer.ok ? reaction(JSON.parse(bytes.toString())) : bytes
    const body = typeof changed === 'string' || Buffer.isBuffer(changed) ? changed : JSON.stringify(changed)
    response.writeHead(answer.status, headers).end(body)
  })
  return `http://127.0.0.1:${await listening(server)}`
}
