// Keeps a sync that runs running, for as long as a test looks at it from outside: a fixed latency would be a race.
import type { Sandbox } from '../../src/sandbox/server.ts'

async function setFaults({ url }: Sandbox, settings: object): Promise<void> {
  const answer = await fetch(`${url}/_sandbox/faults`, { method: 'POST', body: JSON.stringify(settings) })
  if (!answer.ok) throw new Error(`The sandbox took no faults: ${await answer.text()}`)
}

/** While `looking` runs, each answer of the sandbox goes out five seconds late; afterwards at once again. */
export async function whileSlowed<T>(sandbox: Sandbox, looking: () => Promise<T>): Promise<T> {
  await setFaults(sandbox, { rates: { slow: 1 } })
  try {
    return await looking()
  } finally {
    await setFaults(sandbox, {})
  }
}
