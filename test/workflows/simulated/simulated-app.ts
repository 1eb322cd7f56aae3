// An app on simulated time for one test.
import { onTestFinished } from 'vitest'
import { openSimulatedApp, type SimulatedApp, type SimulatedAppOptions } from './open-simulated-app.ts'

/** Opens an app that is closed when the test ends. */
export async function simulatedApp(options: SimulatedAppOptions = {}): Promise<SimulatedApp> {
  const { simulated, end } = await openSimulatedApp(options)
  onTestFinished(end)
  return simulated
}
