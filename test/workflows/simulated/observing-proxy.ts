// A proxy between convohouse and the sandbox that sees each request.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Starts the proxy and returns its URL; it is closed when the test ends. `see`: a status answers the request instead of the sandbox. */
export async function observingProxy(upstream: string, see: (url: URL) => number | undefined): Promise<string> {
  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', upstream)
    const status = see(url)
    if (status !== undefined) return void response.writeHead(status).end()
    const answer = await fetch(url, { headers: { authorization: request.headers.authorization ?? '' } })
    const headers = { 'content-type': 'application/json', date: answer.headers.get('date') ?? '' }
    response.writeHead(answer.status, headers).end(Buffer.from(await answer.arrayBuffer()))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
