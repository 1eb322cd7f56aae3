// Sends events of 8 KB over plain connections, in a separate process: as fast as they are acknowledged, or at a rate
// per second. node load.js PORT SECONDS CONNECTIONS RATE; a rate of 0 means as fast as possible.
import { connect, type Socket } from 'node:net'
import { eventBodies } from './bodies.ts'

const [port, seconds, connections, rate] = process.argv.slice(2).map(Number) as [number, number, number, number]
const END = '\r\n\r\n'
/** Events sent before the measurement, to open connections and compile code. */
const WARM_MS = 1_500

const requests = eventBodies(200).map(body =>
  Buffer.concat([
    Buffer.from(
      `POST /webhooks HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: ${body.length}${END}`,
    ),
    body,
  ]),
)
let sent = 0
let isOver = false
let counted: number[] = []
let refused = 0
const beganMs = performance.now()

/** Due times of the requests that have not been answered. */
const due = new Map<Socket, number[]>()

function send(socket: Socket, atMs = performance.now()): void {
  due.get(socket)!.push(atMs)
  socket.write(requests[sent++ % requests.length]!)
}

function onAnswer(socket: Socket): void {
  const nowMs = performance.now()
  counted.push(nowMs - due.get(socket)!.shift()!)
  if (rate === 0 && !isOver) send(socket)
}

function open(): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.setNoDelay()
  due.set(socket, [])
  let rest = ''
  socket.on('data', (piece: Buffer) => {
    const answers = (rest + piece.toString('latin1')).split(END)
    rest = answers.pop()!
    for (const head of answers) {
      if (!head.startsWith('HTTP/1.1 200')) refused += 1
      onAnswer(socket)
    }
  })
  socket.on('connect', () => {
    if (rate === 0) send(socket)
  })
  return socket
}

const sockets = Array.from({ length: connections }, open)

/** Sends each event when it is due, even if earlier events have no answer yet. */
function sendByRate(): void {
  let count = 0
  const timer = setInterval(() => {
    const nowMs = performance.now() - beganMs
    for (; (count * 1_000) / rate <= nowMs; count++)
      send(sockets[count % connections]!, beganMs + (count * 1_000) / rate)
    if (isOver) clearInterval(timer)
  }, 1)
}

if (rate > 0) sendByRate()
setTimeout(() => {
  const fromMs = performance.now()
  counted = []
  setTimeout(() => {
    isOver = true
    const took = (performance.now() - fromMs) / 1_000
    const sorted = counted.sort((a, b) => a - b)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
    console.log(JSON.stringify({ eventsPerSecond: sorted.length / took, p50Ms: at(0.5), p99Ms: at(0.99), refused }))
    process.exit()
  }, seconds * 1_000)
}, WARM_MS)
