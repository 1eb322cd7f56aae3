// SQL of the owner that DuckDB does not interrupt: it ends its process, and neither the warehouse nor other work suffers.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { queryHolder } from '../../src/warehouse/query/http/holder-client.ts'
import { heldStatements } from '../../src/warehouse/statements/held.ts'
import { cli, start } from '../cli/cli-process.ts'
import { NO_REFRESH, openScene, STILL, TOKEN_ENV } from '../scene.ts'
import { isDeep } from '../tier.ts'
import { until } from '../until.ts'

/** One value of 2.4 GB, which DuckDB does not count. */
const HUGE = 'SELECT len(range(300000000))'
/** One value that takes minutes to compute. */
const ENDLESS = "SELECT levenshtein(repeat('private', 100000), repeat('b', 300000))"

async function openOwner() {
  const sandbox = { ...STILL, conversations: 20 }
  const scene = await openScene({ sandbox, workspace: { resources: 'none', ...NO_REFRESH } })
  onTestFinished(scene.close)
  return { ...scene, config: ['--config', scene.file] }
}

describe('a query that DuckDB does not interrupt', () => {
  it('ends the process that holds the warehouse, which is restarted, and is refused from then on; SIGTERM ends the command nevertheless', async () => {
    const { home, config } = await openOwner()
    const watching = start(['sync', '--watch', '1h', '--yes', ...config], { env: TOKEN_ENV })
    let stderr = ''
    watching.process.stderr!.on('data', text => {
      stderr += text
    })
    const ask = (sql: string, timeoutMs = 60_000) =>
      queryHolder({ home, sql, timeoutMs }).then(
        answer => answer.close().then(() => 'rows'),
        error => error.code as string,
      )
    const isBack = () => until(async () => (await ask('SELECT 1')) === 'rows')
    await watching.said('next round at')

    expect(await ask(HUGE)).toMatch(/QUERY_MEMORY|QUERY_HELD/)
    await until(async () => stderr.includes('restarting it'))
    await isBack()
    expect(await ask(HUGE)).toBe('QUERY_HELD')

    if (isDeep) {
      expect(await ask(ENDLESS, 300)).toBe('QUERY_TIMEOUT')
      await until(async () => stderr.split('restarting it').length === 3)
      await isBack()
      expect([await ask(ENDLESS, 300), heldStatements(home).map(({ limit }) => limit)]).toEqual([
        'QUERY_HELD',
        ['memory', 'time'],
      ])
      expect(stderr).toContain('it was running the query: SELECT levenshtein(repeat(?, ?), repeat(?, ?))')
    }
    const { stdout } = await cli(['status', ...config], { env: TOKEN_ENV })
    expect(stdout).toMatch(/query SELECT len\(range\(\?\)\): passed its memory limit \(640MB\), /)
    for (const text of [stderr, stdout]) expect(text).not.toContain('private')
    watching.process.kill('SIGTERM')
    await watching.ended
  })

  it.runIf(isDeep)('does not keep a command from ending within ten seconds of SIGTERM', async () => {
    const { home, config } = await openOwner()
    const watching = start(['sync', '--watch', '1h', '--yes', ...config], { env: TOKEN_ENV })
    await watching.said('next round at')
    const asked = queryHolder({ home, sql: ENDLESS, timeoutMs: 600_000 }).catch(error => error)
    await until(() =>
      queryHolder({ home, sql: 'SELECT 1', timeoutMs: 5_000 }).then(answer => answer.close().then(() => true)),
    )
    const beganMs = performance.now()
    watching.process.kill('SIGTERM')
    expect((await watching.ended).code).toBe(130)
    expect(performance.now() - beganMs).toBeLessThan(10_500)
    expect((await asked).code).toMatch(/INTERRUPTED|WAREHOUSE_ENDED/)
  })

  it.runIf(isDeep)('ends `query`, if no process holds the warehouse', async () => {
    const { config } = await openOwner()
    expect((await cli(['sync', '--yes', ...config], { env: TOKEN_ENV })).code).toBe(0)
    const { stderr } = await cli(['query', ENDLESS, '--timeout', '1s', ...config], { env: TOKEN_ENV })
    expect(stderr).toMatch(/^error QUERY_TIMEOUT: The query ran longer than 1 s\./)
    const again = await cli(['query', ENDLESS, '--timeout', '1s', ...config], { env: TOKEN_ENV })
    expect(again.stderr).toMatch(/^error QUERY_HELD: The query passed its time limit \(1s\)/)
  })
})

it.runIf(isDeep)(
  'a model that DuckDB does not interrupt ends its sync once, and is held until its file changes',
  async () => {
    const { folder, config } = await openOwner()
    const models = join(folder, 'models')
    const env = { ...TOKEN_ENV, CONVOHOUSE_MODELS: models }
    await mkdir(models)
    const write = (sql: string) =>
      writeFile(join(models, 'sizes.sql'), `-- One row.\n-- key: id\n-- columns:\n--   id  none  Id\n${sql}\n`)
    const run = async (...args: string[]) => {
      const { stdout, stderr } = await cli([...args, ...config], { env })
      return `${stdout}${stderr}`
    }
    await write('SELECT 1 AS id, len(range(300000000)) AS n')
    expect(await run('sync', '--yes')).toMatch(/error QUERY_MEMORY: The model passed its memory limit .*: sizes/)
    expect(await run('sync', '--yes')).toContain('the model sizes could not be built')
    expect(await run('status')).toMatch(/sizes\.sql has no table yet: The model passed its memory limit/)
    await write('SELECT 1 AS id, 2 AS n')
    expect(await run('sync', '--yes')).not.toContain('sizes')
    expect(await run('status')).not.toContain('sizes')
    expect(await run('query', 'FROM models.sizes', '--format', 'csv')).toContain('1,2')
  },
)
