// Keeps a sync running while a test inspects it from outside; with a fixed latency, the sync might end before the inspection.
import type { Sandbox } from '../../src/sandbox/server.ts'

async function setFaults({ url }: Sandbox, settings: object): Promise<void> {
  const answer = await fetch(`${url}/_sandbox/faults`, { method: 'POST', body: JSON.stringify(settings) })
  if (!answer.ok) throw new Error(`The sandbox took no faults: ${await answer.text()}`)
}

/** Delays each answer of the sandbox by five seconds while `looking` runs; afterwards answers are immediate. */
export async function whileSlowed<T>(sandbox: Sandbox, looking: () => Promise<T>): Promise<T> {
  await setFaults(sandbox, { rates: { slow: 1 } })
  try {
    return await looking()
  } finally {
    await setFaults(sandbox, {})
  }
}
