// The memory that bodies hold while they are read, and its release however a request ends.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { BodyMemory } from '../../src/receiver/http/body-memory.ts'
import { type ReadBody, readBody } from '../../src/receiver/http/request-body.ts'

const LIMITS = { maxBytes: 1_000, maxBytesAtOnce: 3_000 }

/** A server that reads bodies; the test gets each body and releases it. */
async function startBodyReader(memory: BodyMemory) {
  const bodies: ReadBody[] = []
  let closed = 0
  const server = createServer((request, response) => {
    request.on('close', () => closed++)
    readBody(request, {
      memory,
      isAuthentic: () => false,
      done(body) {
        bodies.push(body)
        response.end()
      },
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const send = (length: number, body: string) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n${body}`)
    return socket
  }
  return { bodies, send, closed: () => closed }
}

it('a body is held until its reader releases it', async () => {
  const memory = new BodyMemory(LIMITS)
  const { bodies, send, closed } = await startBodyReader(memory)
  await once(send(900, 'x'.repeat(900)), 'data')
  await expect.poll(closed).toBe(1)
  expect(memory.held).toBeGreaterThanOrEqual(900)
  const [body] = bodies
  if (!body || 'refused' in body) throw new Error('not read')
  body.release()
  expect(memory.held).toBe(0)
})

it('a sender that hangs up in the middle leaves nothing held, and is not reported', async () => {
  const memory = new BodyMemory(LIMITS)
  const { bodies, send, closed } = await startBodyReader(memory)
  const socket = send(900, 'x'.repeat(500))
  await expect.poll(() => memory.held).toBeGreaterThan(0)
  socket.destroy()
  await expect.poll(closed).toBe(1)
  expect([memory.held, bodies]).toEqual([0, []])
})

it('a body that is refused in the middle is reported once, and nothing of it is held', async () => {
  const memory = new BodyMemory(LIMITS)
  const { bodies, send, closed } = await startBodyReader(memory)
  const socket = send(5_000, 'x'.repeat(2_000))
  await expect.poll(() => bodies).toEqual([{ refused: expect.stringMatching(/too-large|too-slow/) }])
  socket.write('x'.repeat(3_000))
  await expect.poll(closed).toBe(1)
  expect([memory.held, bodies.length]).toEqual([0, 1])
})
