import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { type Landing, openLanding } from '../../src/landing/store.ts'
import type { ServedRequest } from '../../src/sandbox/request-log.ts'
import { startSandbox } from '../../src/sandbox/server.ts'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { expectedTables } from '../workflows/expected-rows.ts'
import { readThrough, truthOf } from '../workflows/truth.ts'
import { asLines, warehouseTables } from '../workflows/warehouse-tables.ts'
import { startSync, writeConfig } from './sync-process.ts'

const KILLS = 30
/** Windows that are read at the same time: so many requests are under way at a kill, at most. */
const LANES = 4
const LATENCY_MS = 250
const TOKEN = 'killed-token-77'
const START_MS = Date.UTC(2026, 5, 1, 12)
/** From before the first request of a process to well into its work. */
const DELAY_MS = { from: 250, to: 1_500 }

const keyOf = ({ agentId, query }: Pick<ServedRequest, 'agentId' | 'query'>): string =>
  JSON.stringify([agentId, Object.entries(query).sort()])

/** Requests whose pages are on disk. */
async function landedKeys(landing: Landing, known: Map<string, string>): Promise<Set<string>> {
  for (const { path } of await landing.list('conversations')) {
    if (known.has(path)) continue
    const { place, request } = await landing.head(path)
    known.set(path, keyOf({ agentId: place.agentId, query: request.query }))
  }
  return new Set(known.values())
}

it('a sync that is killed at 30 random points loses nothing, doubles nothing, and repeats only what was under way', {
  timeout: 300_000,
}, async () => {
  const sandbox = await startSandbox({
    port: 0,
    token: TOKEN,
    startMs: START_MS,
    speed: 0,
    conversations: 2_400,
    agents: 5,
    latencyMs: LATENCY_MS,
  })
  onTestFinished(() => sandbox.close())
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-kill-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const home = join(folder, 'data')
  const config = await writeConfig(folder, { url: sandbox.url, home, pageSize: 10 })
  const served = async (since: number) => {
    const answer = await fetch(`${sandbox.url}/_sandbox/requests?kind=export&since=${since}`)
    return ((await answer.json()) as { requests: ServedRequest[] }).requests
  }

  const landing = openLanding(home, 'ws_demo')
  const pages = new Map<string, string>()
  const seen = new Set<string>()
  let last = 0
  let repeated = 0
  /** Looks at the requests since the last call, given what had landed before they were made. */
  const look = async (landed: ReadonlySet<string>, kills: number): Promise<void> => {
    // What a killed process had asked for is still being answered.
    await sleep(LATENCY_MS + 50)
    const requests = await served(last)
    last = requests.at(-1)?.n ?? last
    expect(requests.filter(request => landed.has(keyOf(request)))).toEqual([])
    repeated += requests.filter(request => seen.has(keyOf(request))).length
    expect(repeated).toBeLessThanOrEqual(LANES * kills)
    for (const request of requests) seen.add(keyOf(request))
  }

  for (let kills = 0; kills < KILLS; kills++) {
    const landed = await landedKeys(landing, pages)
    const sync = startSync(config, TOKEN)
    await sleep(DELAY_MS.from + Math.random() * (DELAY_MS.to - DELAY_MS.from))
    expect(await sync.kill()).toBe(true)
    await look(landed, kills)
  }
  const landed = await landedKeys(landing, pages)
  const { code, said } = await startSync(config, TOKEN).ended
  expect(code, said).toBe(0)
  await look(landed, KILLS)

  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 2 })
  onTestFinished(() => warehouse.close())
  const truth = truthOf(sandbox, { throughMs: readThrough(START_MS, 120_000) })
  expect(asLines(await warehouseTables(warehouse.writer.rows))).toEqual(asLines(expectedTables(truth)))
  const unfinished = await warehouse.writer.rows('SELECT count(*)::INTEGER AS n FROM _runs WHERE ended_at IS NULL')
  expect(Number(unfinished[0]!.n)).toBeGreaterThan(5)
})
