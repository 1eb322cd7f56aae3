// `kill -9` of `convohouse sync` at random points: what is lost, doubled, or paid for twice. The tables are compared with
// what the sandbox's generator says, after every twenty kills and a last sync to its end.
import { killSyncs } from '../faults/kills.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'

export async function killsBench({ kills, seed }: BenchOptions): Promise<Record<string, number>> {
  const result: Record<string, number> = {}
  const took = await seconds(async () => {
    const { phases, ...report } = await killSyncs({
      kills,
      seed,
      tell: report => {
        const phases = Object.entries(report.phases).map(([phase, count]) => `${phase} ${count}`)
        console.log(`${report.kills} kills (${phases.join(', ')}), ${report.ended} syncs ended by themselves`)
      },
    })
    Object.assign(result, report)
  })
  return { ...result, seconds: rounded(took, 0) }
}
