// The metrics of targets and checks after real publications: the lag of each target, and the outcomes of its publications.
import { rm, writeFile } from 'node:fs/promises'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import type { TargetConfig } from '../../src/config/targets.ts'
import { HOUR, MINUTE } from '../../src/core/time.ts'
import { TargetMetrics } from '../../src/telemetry/target-metrics.ts'
import { beginEpoch } from '../../src/warehouse/changes/log-changes.ts'
import { rowsHere } from '../../src/warehouse/query/rows.ts'
import { newTarget, publishTo } from '../publish/published.ts'
import { landConversations, SENT_AT_MS } from '../warehouse/landed-pages.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { sampleOf, samples } from './scrape.ts'

const app = temporaryWarehouse()

/** Returns a process that begins now and reports these targets; `page` returns its metrics from then on. */
function process(targets: TargetConfig[]) {
  const registry = new Registry()
  let aheadMs = 0
  const rows = rowsHere(app.warehouse.instance, { timeoutMs: 10_000, signal: new AbortController().signal })
  const metrics = new TargetMetrics({ registry, targets, rows, now: () => Date.now() + aheadMs })
  return async (afterMs = 0): Promise<string> => {
    aheadMs = afterMs
    await metrics.refresh()
    return registry.metrics()
  }
}

it('show what each target lacks and since when, the last publication, failures, and checks and models by outcome', async () => {
  const { writer } = app.warehouse
  const place = app.workspace()
  const load = async (userName: string, minute: number) => {
    const page = { records: [{ ID: 'a', userName }], sentAtMs: SENT_AT_MS + minute * MINUTE }
    await place.load(await landConversations(place.landing, page))
  }
  const target = newTarget(app.home)
  const of = { target: target.name }
  const page = (afterMs = 0) => process([target])(afterMs)
  const counting = process([target])
  await load('Ann', 1)
  expect(samples(await page()).filter(({ labels }) => labels.target !== undefined)).toHaveLength(1)

  const { rows } = await publishTo(app, target)
  const current = await page(HOUR)
  expect(sampleOf(current, 'convohouse_target_info', { ...of, type: 'snapshot' })).toBe(1)
  expect(sampleOf(current, 'convohouse_target_lag_seconds', of)).toBe(0)
  expect(sampleOf(current, 'convohouse_target_changes_behind', of)).toBe(0)
  expect(sampleOf(current, 'convohouse_target_last_rows', { ...of, kind: 'refill' })).toBe(rows)
  expect(sampleOf(current, 'convohouse_target_last_duration_seconds', { ...of, kind: 'refill' })).toBeGreaterThan(0)
  const success = sampleOf(current, 'convohouse_target_last_success_timestamp_seconds', of)!
  expect(Math.abs(Date.now() / 1_000 - success)).toBeLessThan(60)

  await load('Amy', 2)
  await rm(target.path)
  await writeFile(target.path, 'precious')
  for (const _ of [1, 2]) await expect(publishTo(app, target)).rejects.toMatchObject({ code: 'TARGET_UNUSABLE' })
  const failing = await page(HOUR)
  expect(sampleOf(failing, 'convohouse_target_changes_behind', of)).toBeGreaterThan(0)
  const lag = sampleOf(failing, 'convohouse_target_lag_seconds', of)!
  expect(Math.abs(lag - 3_600)).toBeLessThan(60)
  expect(sampleOf(failing, 'convohouse_target_last_success_timestamp_seconds', of)).toBe(success)
  const code = { ...of, code: 'TARGET_UNUSABLE' }
  expect(sampleOf(failing, 'convohouse_target_failing_attempts', code)).toBe(2)
  // The process that has just begun has seen no failure.
  expect(sampleOf(failing, 'convohouse_publication_failures_total', code)).toBe(undefined)
  expect(sampleOf(await counting(), 'convohouse_publication_failures_total', code)).toBe(2)

  // A copy of another epoch lacks all changes since its rows were read.
  await writer.transaction(() => beginEpoch(writer))
  const outdated = await page(HOUR)
  expect(sampleOf(outdated, 'convohouse_target_changes_behind', of)).toBe(undefined)
  expect(sampleOf(outdated, 'convohouse_target_lag_seconds', of)).toBeGreaterThan(lag - 60)
  await rm(target.path)
  await publishTo(app, target)
  expect(sampleOf(await page(), 'convohouse_target_failing_attempts', code)).toBe(undefined)

  expect(sampleOf(current, 'convohouse_checks', { severity: 'error', outcome: 'failed' })).toBe(0)
  await writer.run(`INSERT INTO _checks BY NAME SELECT 'loud' AS name, '' AS about, 'leads' AS table_name, 'error' AS severity,
    false AS blocks, 'failed' AS outcome, '[]' AS examples, now() AS checked_at, 0 AS duration_ms, '' AS epoch, 0 AS seq`)
  await writer.run(`INSERT INTO _models BY NAME SELECT 'weekly' AS name, '' AS about, '' AS definition, [] AS key, [] AS shared, '[]' AS columns,
    'failed' AS outcome, now() AS tried_at`)
  const wrong = await page()
  expect(sampleOf(wrong, 'convohouse_checks', { severity: 'error', outcome: 'failed' })).toBe(1)
  const models = (served: string, outcome: string) => sampleOf(served, 'convohouse_models', { outcome })
  expect([models(current, 'failed'), models(wrong, 'failed'), models(wrong, 'built')]).toEqual([0, 1, 0])
})
