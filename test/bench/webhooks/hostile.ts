// Posts bodies of 8 MB without a secret over many connections, as fast as they are read: half of them brackets, half of
// them a long text. node hostile.js PORT SECONDS CONNECTIONS
import { connect } from 'node:net'

const [port, seconds, connections] = process.argv.slice(2).map(Number) as [number, number, number]
const BYTES = 8_000_000
const head = Buffer.from(`POST /webhooks HTTP/1.1\r\nHost: bench\r\nContent-Length: ${BYTES}\r\n\r\n`)
const requests = [Buffer.alloc(BYTES, '['), Buffer.from(`{"a":"${'x'.repeat(BYTES - 8)}"}`)].map(body =>
  Buffer.concat([head, body]),
)

function post(index: number): void {
  const socket = connect(port, '127.0.0.1', () => socket.write(requests[index % 2]!))
  // The receiver answers, or drops the connection for another one.
  socket.on('error', () => {}).once('data', () => socket.destroy())
  socket.once('close', () => setTimeout(post, 10, index))
}

for (let index = 0; index < connections; index++) post(index)
setTimeout(() => process.exit(), seconds * 1_000)
