// The thread of an intake: bodies come in messages, verdicts go back, those of one sync together.
import { parentPort, workerData } from 'node:worker_threads'
import { type IntakeOptions, openIntake } from './intake.ts'
import type { FromLane, ToLane } from './lane-messages.ts'

const port = parentPort!
let verdicts: FromLane['verdicts'] = []
let commits: FromLane['commits'] = []
let isTelling = false

function tell(more: { isClosed?: true } = {}): void {
  isTelling = false
  const message: FromLane = { verdicts, commits, openSegments: intake.openSegments(), ...more }
  verdicts = []
  commits = []
  port.postMessage(message)
}

const intake = openIntake({ ...(workerData as IntakeOptions), onCommit: commit => commits.push(commit) })

async function take(number: number, body: Uint8Array, addressed: string | null): Promise<void> {
  const verdict = await intake.take([body], addressed)
  verdicts.push([number, verdict])
  if (!isTelling) setImmediate(tell)
  isTelling = true
}

port.on('message', async ({ bytes, bodies, close }: ToLane) => {
  let at = 0
  for (const { number, length, addressed } of bodies) {
    take(number, bytes.subarray(at, at + length), addressed)
    at += length
  }
  if (!close) return
  await intake.close()
  tell({ isClosed: true })
  port.close()
})
