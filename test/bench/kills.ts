// Sends `kill -9` to `convohouse sync` at random points and counts what is lost, duplicated or billed twice. After
// every twenty kills and a complete sync, the tables are compared with the sandbox's generator.

import { killSyncs } from '../faults/kills/kills.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'

export async function killsBench({ kills, seed }: BenchOptions): Promise<Record<string, number>> {
  const result: Record<string, number> = {}
  const took = await seconds(async () => {
    const { phases, ...report } = await killSyncs({
      kills,
      seed,
      onReport: report => {
        const phases = Object.entries(report.phases).map(([phase, count]) => `${phase} ${count}`)
        console.log(`${report.kills} kills (${phases.join(', ')}), ${report.ended} syncs completed without a kill`)
      },
    })
    Object.assign(result, report)
  })
  return { ...result, seconds: rounded(took, 0) }
}
