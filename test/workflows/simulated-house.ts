// A house on simulated time for one test.
import { onTestFinished } from 'vitest'
import { openSimulatedHouse, type SimulatedHouse, type SimulatedHouseOptions } from './open-simulated-house.ts'

/** Closed when the test is over. */
export async function simulatedHouse(options: SimulatedHouseOptions = {}): Promise<SimulatedHouse> {
  const { simulated, end } = await openSimulatedHouse(options)
  onTestFinished(end)
  return simulated
}
