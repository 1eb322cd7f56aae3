// A receiver on a real port and disk, and its clients.
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { type Intake, openIntake } from '../../src/receiver/intake.ts'
import { ReceiverMetrics } from '../../src/receiver/metrics.ts'
import { type Receiver, type ReceiverOptions, startReceiver } from '../../src/receiver/server.ts'
import { readSegment } from '../../src/spool/read-segment.ts'
import { sealedSegments } from '../../src/spool/segments.ts'
import { MetricsPage } from '../../src/telemetry/page.ts'
import { temporaryHome } from '../landing/temporary-home.ts'

export const SECRET = 'whsec-canary-5512'
export const WORKSPACE = 'ws_demo'

export interface TestReceiver {
  home: string
  receiver: Receiver
  intake: Intake
  post(body: string | object, path?: string): Promise<Response>
  metric(name: string): Promise<number>
  /** Closes the receiver and returns the payloads in sealed segments. */
  sealed(): Promise<Record<string, unknown>[]>
}

export async function startTestReceiver(options: Partial<ReceiverOptions> = {}): Promise<TestReceiver> {
  const home = await temporaryHome()
  const page = new MetricsPage()
  const workspaces = [{ id: WORKSPACE, secrets: [SECRET] }]
  const intake = openIntake({ home, workspaces, onCommit: commit => metrics.commit(commit) })
  const metrics = new ReceiverMetrics({ registry: page.registry, openSegments: () => intake.openSegments() })
  const given = { host: '127.0.0.1', port: 0, maxBodyBytes: 100_000, maxConnections: 50, intake, metrics, page }
  const receiver = await startReceiver({ ...given, ...options })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= receiver.close()
    return closing
  }
  onTestFinished(async () => {
    receiver.abort()
    await close()
  })
  return {
    home,
    receiver,
    intake,
    post: (body, path = '/webhooks') =>
      fetch(receiver.url + path, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify({ workspaceSecret: SECRET, ...body }),
      }),
    metric: async name => {
      const text = await (await fetch(`${receiver.url}/metrics`)).text()
      // Selects samples with at least the labels in `name`.
      const samples = text
        .split('\n')
        .filter(line => line.startsWith(name.replace('}', '')) && !line.includes('_bucket'))
      return samples.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    async sealed() {
      await close()
      const read = await Promise.all((await sealedSegments(home, WORKSPACE)).map(readSegment))
      return read.flatMap(({ events }) => events.map(({ payload }) => JSON.parse(Buffer.from(payload).toString())))
    },
  }
}

/** Returns a separate connection that sends the bytes unchanged; resolves with everything received until it closes. */
export function dial({ port }: Receiver): { socket: Socket; answer: Promise<string>; closed: Promise<void> } {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('error', () => {})
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  onTestFinished(() => void socket.destroy())
  const answer = new Promise<string>(resolve => {
    socket.on('data', piece => {
      text += piece
      if (text.includes('\r\n\r\n')) resolve(text)
    })
    closed.then(() => resolve(text))
  })
  return { socket, answer, closed }
}

export const headOf = (length: number | string, more = ''): string =>
  `POST /webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n${more}\r\n`
