// `sync --on temporal`, and the command's other messages about Temporal.
import { expect, it } from 'vitest'
import { DAY } from '../../src/core/time.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { type Running, start } from '../cli/cli-process.ts'
import { whileSlowed } from '../cli/delayed-vendor.ts'
import { inProcess } from '../cli/in-process.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { until } from '../until.ts'
import { startWorkerAt } from './hosts.ts'
import { scene, TOKEN } from './scene.ts'
import { writeConfig } from './workers/worker-process.ts'

interface Line {
  kind: string
  outcome?: string
  pages?: number
  run?: string
}

const lines = (stdout: string): Line[] =>
  stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)

/** Waits until standard output contains the text. */
const said = ({ process }: Running, text: string): Promise<void> =>
  new Promise(resolve => {
    let output = ''
    process.stdout!.on('data', chunk => {
      output += chunk
      if (output.includes(text)) resolve()
    })
  })

describeWithTemporal('sync --on temporal', ({ place, env }) => {
  /** A workspace with a worker. Commands run in this process (`run`) or in their own (`begin`). */
  async function app(sandbox: Partial<SandboxOptions> = {}) {
    const there = await scene({ sandbox, settings: { maxPage: 10 } })
    const path = await writeConfig(there.config, '2m')
    await startWorkerAt(path, place)
    const options = { env: { WORKER_TOKEN: TOKEN, ...env } }
    const args = (...words: string[]) => [...words, '--config', path]
    return {
      ...there,
      run: (...words: string[]) => inProcess(args(...words), options),
      begin: (...words: string[]) => start(args(...words), options),
    }
  }

  it('shows planning and progress and ends with its report, as an embedded sync does, and is refused without --yes if it exports stored conversations again', async () => {
    const there = await app({ latencyMs: 30, startMs: Date.now() - DAY })
    const { code, stdout, stderr } = await there.run('sync', '--on', 'temporal', '--json')
    expect(code, stderr).toBe(0)
    const updates = lines(stdout)
    expect(updates.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['planned', 'progress', 'report']))
    expect(updates.at(-1)).toMatchObject({ kind: 'report', outcome: 'done' })
    expect(updates.at(-1)!.pages).toBe((await there.exported()).length)
    const full = await there.run('sync', '--on', 'temporal', '--full')
    expect([full.code, full.stderr]).toEqual([
      2,
      expect.stringMatching(/which bills [\d,]+( to [\d,]+)? sessions again/),
    ])
    expect((await there.exported()).length).toBe(updates.at(-1)!.pages)
    const beside = await there.run('sync')
    expect([beside.code, beside.stderr]).toEqual([6, expect.stringContaining('sync --on temporal')])

    there.sandbox.clock.advance(DAY)
    const running = await whileSlowed(there.sandbox, async () => {
      const begun = there.begin('sync', '--on', 'temporal')
      await begun.said('ws_demo: planning: listing the agents')
      return begun
    })
    const planned = await running.ended
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stderr.match(/planning/g)).toHaveLength(1)
    expect(planned.stderr).toMatch(/planning[\s\S]*reading 3 windows/)
  })

  it('continues after its follower detaches, and can be joined, paused, resumed and cancelled', async () => {
    const there = await app({ latencyMs: 1_000, conversations: 300 })
    const first = there.begin('sync', '--on', 'temporal')
    await until(async () => (await there.exported()).length >= 2, { everyMs: 20 })
    expect((await there.run('pause')).stdout).toContain('paused')
    first.process.kill('SIGINT')
    const { code, stderr } = await first.ended
    expect([code, stderr]).toEqual([0, expect.stringContaining('The sync continues on Temporal')])
    expect((await there.run('allow', '--overage-packs', '3')).stdout).toContain('new limits accepted')
    const nothing = await there.run('allow')
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('No limit is given')])
    const second = there.begin('sync', '--on', 'temporal')
    await second.said('an identical sync is already running')
    await second.said('paused: no requests')
    const behind = there.begin('sync', '--on', 'temporal', '--full', '--yes')
    await behind.said('ws_demo: waiting behind sync ')
    const machine = there.begin('sync', '--on', 'temporal', '--full', '--yes', '--json')
    await said(machine, '"kind":"queued"')
    expect((await there.run('resume')).stdout).toContain('resumed')
    expect((await there.run('cancel')).stdout).toContain('cancellation requested')
    const ended = await second.ended
    expect([ended.code, ended.stdout]).toEqual([130, expect.stringContaining('stopped')])
    const waited = await behind.ended
    expect([waited.code, waited.stderr]).toEqual([
      130,
      expect.stringMatching(/^ws_demo: waiting behind sync [0-9a-f]{8}, which is paused \(`convohouse resume`\)$/m),
    ])
    expect(waited.stderr.match(/waiting behind/g)).toHaveLength(1)
    const queued = lines((await machine.ended).stdout).filter(({ kind }) => kind === 'queued')
    expect(queued).toMatchObject([{ behind: { paused: true } }])
    await until(async () => (await there.run('cancel')).stdout.includes('no sync is running'))
  })
})
