// Baseline for the receiver: a minimal Node server that only appends bodies and syncs, with the same group commit.
import { open } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const file = await open(process.argv[2]!, 'wx', 0o600)
let waiting: { chunks: Buffer[]; response: ServerResponse }[] = []
let isFlushing = false

async function flush(): Promise<void> {
  isFlushing = true
  while (waiting.length > 0) {
    const batch = waiting
    waiting = []
    await file.writev(batch.flatMap(({ chunks }) => chunks))
    await file.datasync()
    for (const { response } of batch) {
      response.writeHead(200, { 'Content-Length': 0 })
      response.end()
    }
  }
  isFlushing = false
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    waiting.push({ chunks, response })
    if (!isFlushing) flush()
  })
})
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })))
