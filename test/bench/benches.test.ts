// Runs each bench once with little data, so that none stops working unnoticed. Its figures mean nothing then.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isDeep } from '../tier.ts'

const RUN = join(import.meta.dirname, '../../dist/test/bench/run.js')

/** The flags of each bench; `peers` runs where DLT_PYTHON names a Python that has dlt. */
const BENCHES: Record<string, string> = {
  replay: '--records 300 --rounds 1',
  'first-rows': '--records 300 --rounds 1',
  forget: '--records 300',
  kills: '--kills 2',
  upsert: '--records 300 --rows 900',
  month: '--days 1',
  publish: '--records 300 --rows 3000 --rounds 1',
  serve: '--records 300 --rows 3000 --rounds 1',
  dashboard: '--records 300 --rows 3000 --rounds 1',
  size: '--days 1',
  up: '--records 300 --rounds 1',
  webhooks: '--rounds 1',
  ...(process.env.DLT_PYTHON && { peers: '--records 300 --rounds 1' }),
}

describe.runIf(isDeep)('a bench', () => {
  it.each(Object.entries(BENCHES))('%s runs, and ends with its figures', async (name, flags) => {
    const args = [RUN, name, ...flags.split(' ').filter(Boolean)]
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e8 })
    expect(Object.keys(JSON.parse(stdout.trim().split('\n').at(-1)!)).length).toBeGreaterThan(0)
  })
})
