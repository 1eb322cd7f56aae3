// The worker thread of an intake, for ambiguous bodies. Bodies arrive in messages. Their results are sent back, those of one fsync together.
import { parentPort, workerData } from 'node:worker_threads'
import { type IntakeOptions, openIntake } from './intake.ts'
import type { FromWorker, ToWorker } from './threaded-intake.ts'

const port = parentPort!
let kept: number[] = []
let refused: FromWorker['refused'] = []
let commits: FromWorker['commits'] = []
let isScheduled = false

function report(more: { isClosed?: true } = {}): void {
  isScheduled = false
  const message = { kept: Float64Array.from(kept), refused, commits, openSegments: intake.openSegments(), ...more }
  kept = []
  refused = []
  commits = []
  port.postMessage(message satisfies FromWorker)
}

const intake = openIntake({ ...(workerData as IntakeOptions), onCommit: commit => commits.push(commit) })

async function take(number: number, body: Uint8Array, addressed: string | null): Promise<void> {
  const result = await intake.takeParsed([body], addressed)
  if (result === 'kept') kept.push(number)
  else refused.push([number, result])
  if (!isScheduled) setImmediate(report)
  isScheduled = true
}

port.on('message', async ({ first, bytes, lengths, addressed, secrets, close }: ToWorker) => {
  if (secrets) intake.setSecrets(secrets)
  let at = 0
  lengths.forEach((length, index) => {
    take(first + index, bytes.subarray(at, at + length), addressed?.[index] ?? null)
    at += length
  })
  if (!close) return
  await intake.close()
  report({ isClosed: true })
  port.close()
})
