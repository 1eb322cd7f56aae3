// `kill -9` of `convohouse sync` at random points or, with `--on temporal`, of any worker or the server: counts what is lost, duplicated
// or billed twice. After every twenty kills and a complete sync, the tables are compared with the sandbox's generator.

import { killSyncs } from '../faults/kills/kills.ts'
import { killOnTemporal } from '../faults/kills/temporal-kills.ts'
import { obtainTemporal } from '../temporal-cli.ts'
import { type BenchOptions, rounded, seconds } from './measure.ts'

export const killsBench = (options: BenchOptions): Promise<Record<string, number>> =>
  options.on === 'temporal' ? killsOnTemporal(options) : killsOfSync(options)

async function killsOnTemporal({ kills, seed }: BenchOptions): Promise<Record<string, number>> {
  const result: Record<string, number> = {}
  const took = await seconds(async () => {
    const { killed, ...report } = await killOnTemporal({
      command: await obtainTemporal(),
      kills,
      seed,
      onReport: ({ kills, killed, syncs, rebilled, lost, doubled, exportedTwice }) => {
        const victims = Object.entries(killed).map(([victim, count]) => `${victim} ${count}`)
        console.log(
          `${kills} kills (${victims.join(', ')}), ${syncs} syncs, ${rebilled} requests billed again, ${exportedTwice} exported twice, ${lost} rows lost, ${doubled} duplicated`,
        )
      },
    })
    Object.assign(result, report)
  })
  return { ...result, seconds: rounded(took, 0) }
}

async function killsOfSync({ kills, seed }: BenchOptions): Promise<Record<string, number>> {
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
