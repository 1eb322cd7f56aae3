// The memory that bodies occupy while they are read: its limit, which senders are dropped at the limit, and its release.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { Bodies, type ReadBody } from '../../src/receiver/bodies.ts'
import { listening } from '../ports.ts'

/** Returns a server that reads bodies; the test gets each body and releases it. Bodies with an `S` are authentic. */
async function startBodyReader(limits: { maxBytes: number; maxBytesAtOnce: number }) {
  const bodies = new Bodies(limits)
  const read: ReadBody[] = []
  let closed = 0
  const server = createServer((request, response) => {
    request.on('close', () => closed++)
    const done = (body: ReadBody) => {
      read.push(body)
      if ('refused' in body) response.writeHead(408)
      response.end()
    }
    bodies.read(request, { isAuthentic: bytes => bytes.includes('S'), done })
  })
  const port = await listening(server)
  const send = (length: number, body: string): Socket => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`)
    return socket
  }
  return { bodies, read, send, port, closed: () => closed }
}

const LIMITS = { maxBytes: 1_000, maxBytesAtOnce: 3_000 }

it('a body is held until its reader releases it', async () => {
  const { bodies, read, send, closed } = await startBodyReader(LIMITS)
  await once(send(900, 'x'.repeat(900)), 'data')
  await expect.poll(closed).toBe(1)
  expect(bodies.bytes).toBeGreaterThanOrEqual(900)
  const [body] = read
  if (!body || 'refused' in body) throw new Error('not read')
  expect(body.body.length).toBe(900)
  body.release()
  expect(bodies.bytes).toBe(0)
})

it('a sender that hangs up in the middle leaves no memory in use, and is not reported', async () => {
  const { bodies, read, send, closed } = await startBodyReader(LIMITS)
  const socket = send(900, 'x'.repeat(500))
  await expect.poll(() => bodies.bytes).toBeGreaterThan(0)
  socket.destroy()
  await expect.poll(closed).toBe(1)
  expect([bodies.bytes, read]).toEqual([0, []])
})

it('a body that grows too large is reported once, and no part of it stays in memory', async () => {
  const { bodies, read, port } = await startBodyReader(LIMITS)
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(
    `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n${'x'.repeat(1_000)}\r\n1\r\nx\r\n`,
  )
  await once(socket, 'data')
  socket.write(`64\r\n${'x'.repeat(100)}\r\n`)
  expect([bodies.bytes, read]).toEqual([0, [{ refused: 'too-large' }]])
})

it('at the limit, the sender with the largest bytes × time is dropped, but none whose secret has arrived', async () => {
  const { bodies, read, send } = await startBodyReader(LIMITS)
  send(950, `S${'x'.repeat(900)}`)
  await expect.poll(() => bodies.bytes).toBeGreaterThan(1_000)
  send(950, 'y'.repeat(800))
  await expect.poll(() => bodies.bytes).toBeGreaterThan(2_000)
  await once(send(900, 'z'.repeat(900)), 'data')
  expect(read).toHaveLength(2)
  expect(read[0]).toEqual({ refused: 'too-slow' })
  expect((read[1] as { body: Buffer }).body.toString()).toBe('z'.repeat(900))
})

it('a body beyond what complete and authentic bodies occupy is refused, and the others stay', async () => {
  const { read, send } = await startBodyReader(LIMITS)
  for (const _ of [1, 2]) await once(send(900, 'x'.repeat(900)), 'data')
  await once(send(900, `S${'x'.repeat(899)}`), 'data')
  expect(read.map(body => ('refused' in body ? body.refused : 'read'))).toEqual(['read', 'read', 'too-busy'])
})

it('a body that arrives byte by byte counts with its overhead', async () => {
  const { bodies, read, send } = await startBodyReader(LIMITS)
  const socket = send(900, '').setNoDelay()
  const timer = setInterval(() => socket.write('x'), 2)
  onTestFinished(() => clearInterval(timer))
  await expect.poll(() => read).toEqual([{ refused: 'too-slow' }])
  expect(bodies.bytes).toBe(0)
})
