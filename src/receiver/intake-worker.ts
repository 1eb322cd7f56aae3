// The thread of an intake, for bodies in doubt: they come in messages, verdicts go back, those of one sync together.
import { parentPort, workerData } from 'node:worker_threads'
import { type IntakeOptions, openIntake } from './intake.ts'
import type { FromLane, ToLane } from './lane-messages.ts'

const port = parentPort!
let kept: number[] = []
let refused: FromLane['refused'] = []
let commits: FromLane['commits'] = []
let isTelling = false

function tell(more: { isClosed?: true } = {}): void {
  isTelling = false
  const message = { kept: Float64Array.from(kept), refused, commits, openSegments: intake.openSegments(), ...more }
  kept = []
  refused = []
  commits = []
  port.postMessage(message satisfies FromLane)
}

const intake = openIntake({ ...(workerData as IntakeOptions), onCommit: commit => commits.push(commit) })

async function take(number: number, body: Uint8Array, addressed: string | null): Promise<void> {
  const verdict = await intake.takeParsed([body], addressed)
  if (verdict === 'kept') kept.push(number)
  else refused.push([number, verdict])
  if (!isTelling) setImmediate(tell)
  isTelling = true
}

port.on('message', async ({ first, bytes, lengths, addressed, admitted, close }: ToLane) => {
  if (admitted) intake.setSecrets(admitted)
  let at = 0
  lengths.forEach((length, index) => {
    take(first + index, bytes.subarray(at, at + length), addressed?.[index] ?? null)
    at += length
  })
  if (!close) return
  await intake.close()
  tell({ isClosed: true })
  port.close()
})
