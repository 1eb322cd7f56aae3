// `convohouse erasures`: the receipts of `forget`, and what is still open.
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { count, counted, utc } from '../core/words.ts'
import { type ErasureStatus, filledTargets, readErasures } from '../reports/erasures.ts'
import { warehouseRows } from '../warehouse/query/rows.ts'
import { warehouseFile } from '../warehouse/warehouse-file.ts'
import { configAt } from './flags/configuration.ts'
import { addConfigFlag } from './flags/sync-flags.ts'
import { print, printJson } from './terminal/print.ts'

export const define = (command: Command): Command =>
  addConfigFlag(command)
    .option('--json', 'one JSON object, for machines')
    .addHelpText(
      'after',
      `
Examples:
  $ convohouse erasures
  $ convohouse erasures --json | jq '.erasures[] | select(.open != [])'

A receipt contains counts and times, and no personal value. It is complete when landing, spool and warehouse are free of the person
and every target has published the deletion.`,
    )
    .action(async (flags: { config?: string; json?: boolean }) => {
      const config = configAt(flags.config)
      const { home } = config
      const rows = existsSync(warehouseFile(home)) ? warehouseRows(config) : null
      const found = await readErasures(rows, { home, targets: filledTargets(config) })
      if (flags.json) return printJson({ erasures: found })
      print(
        ...(found.length === 0
          ? ['Nobody was forgotten: `convohouse forget --help` shows how.']
          : found.flatMap(linesOf)),
      )
    })

const at = (ms: number): string => `${utc(ms)} UTC`

/** Returns a line for an erasure, and one for each place that is open. */
export const openLines = (erasure: ErasureStatus): string[] => [headLine(erasure), ...openPlaces(erasure)]

const openPlaces = ({ open }: ErasureStatus): string[] => open.map(({ place, why }) => `  open: ${place} (${why})`)

function headLine({ id, requestedMs, liftedMs, identifiers, conversations, open }: ErasureStatus): string {
  const of = `${counted(conversations, 'conversation')}, ${counted(identifiers, 'identifier')}`
  const state = liftedMs !== null ? `lifted ${at(liftedMs)}` : open.length > 0 ? 'open' : 'complete'
  return `${id}  requested ${at(requestedMs)}  ${of}  ${state}`
}

function linesOf(erasure: ErasureStatus): string[] {
  const { erasedMs, places, checksums } = erasure
  const erased = Object.entries(places).map(([place, n]) => `${place} ${count(n)}`)
  return [
    headLine(erasure),
    ...(erasedMs === null ? [] : [`  erased ${at(erasedMs)}: ${erased.join(', ')}`]),
    ...checksums.map(checksum => `  sha256 of the replaced pages: ${checksum}`),
    ...openPlaces(erasure),
  ]
}
