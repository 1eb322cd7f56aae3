// Replays of a warehouse that holds several workspaces, one of which is no longer configured.

import { rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RESOURCE_NAMES } from '../../src/config/resources.ts'
import type { Config } from '../../src/config.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { replay } from '../../src/run/replay.ts'
import type { Row } from '../../src/warehouse/connection.ts'
import { landedFile } from '../landing/landed-file.ts'
import { isDeep } from '../tier.ts'
import { WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'
import { FROM_SOURCES, madeOnce, once, rowsOfTables, withWriter } from './synced-home.ts'

const OTHER = 'ws_other'
/** A workspace that has rows in the warehouse but is no longer configured. */
const FORMER = 'ws_former'

/** Three workspaces in one warehouse; two of them are configured. */
const twoAndAFormerOne = madeOnce(async () => {
  const options = {
    sandbox: { conversations: 30, agents: 2, hostile: { 'wrong-types': 0.2, 'unknown-fields': 0.1, 'no-id': 0.05 } },
    settings: { maxPage: 5, resources: RESOURCE_NAMES },
  }
  const first = await simulatedApp(options)
  const { app, config } = first
  const beside = (workspaceId: string, seed: number) =>
    simulatedApp({
      ...options,
      sandbox: { ...options.sandbox, seed },
      beside: { app, home: config.home, workspaceId },
    })
  const [other, former] = [await beside(OTHER, 2), await beside(FORMER, 3)]
  for (const simulated of [first, other, former])
    expect(await simulated.sync()).toMatchObject({ outcome: 'done', failures: [] })
  await first.close()
  return { ...config, workspaces: [...config.workspaces, ...other.config.workspaces] }
})

/** Every row that a replay may change, without load times and record numbers. */
const snapshot = (config: Config): Promise<Record<string, Row[]>> =>
  withWriter(config, writer =>
    rowsOfTables(writer, {
      tables: [...FROM_SOURCES, '_covered', '_workspaces'],
      without: ['_loaded_at', 'loaded_at', '_record'],
    }),
  )

const BOOKKEEPING = ['_requests', '_loads', '_windows', '_covered', '_quarantine', '_quota', '_issues', '_drift']

/** The contents of a fresh copy of the synced data folder. */
const asSynced = once(async () => snapshot(await twoAndAFormerOne()))

/** Removes pages of conversations from the landing: the second page of one agent, and all pages of another. */
async function takeAway({ home }: Config, workspaceId: string): Promise<string[]> {
  const { list } = openLanding(home).workspace(workspaceId)
  const pages = await list('conversations')
  const agents = [...new Set(pages.map(({ address }) => dirname(address)))].sort()
  const taken = pages
    .filter(
      ({ address: path, sequence }) => dirname(path) === agents[1] || (dirname(path) === agents[0] && sequence === 2),
    )
    .map(({ address }) => address)
  expect(taken.length).toBeGreaterThan(2)
  expect(taken.length).toBeLessThan(pages.length)
  for (const [at, path] of taken.entries())
    await rename(landedFile(home, path), join(home, `taken-${workspaceId}-${at}`))
  return taken
}

describe('a replay of several workspaces', () => {
  it('restores all tables of each, and keeps one that is no longer configured', async () => {
    const config = await twoAndAFormerOne()
    await replay({ config })
    expect(await snapshot(config)).toEqual(await asSynced())
  })

  it.runIf(isDeep).each([['one', [OTHER]] as const, ['each', [WORKSPACE, OTHER]] as const])(
    'is refused if landed pages of %s are gone; if it may continue, it keeps all rows, but no columns or tables that are no longer declared',
    async (_, from) => {
      const config = await twoAndAFormerOne()
      const before = await asSynced()
      await withWriter(config, async ({ run }) => {
        for (const table of ['conversations', 'conversation_tags', 'conversation_observations', ...BOOKKEEPING])
          await run(`ALTER TABLE ${table} ADD COLUMN of_before VARCHAR`)
        await run('CREATE TABLE conversations_of_before (workspace_id VARCHAR)')
      })
      const taken: string[] = []
      for (const id of from) taken.push(...(await takeAway(config, id)))
      await expect(replay({ config })).rejects.toMatchObject({
        code: 'LANDING_INCOMPLETE',
        facts: { workspace: from[0] },
      })
      const report = await replay({ config, allowIncomplete: true })
      const configured = before._loads!.filter(load => load.workspace_id !== FORMER)
      expect(report.files).toBe(configured.length - taken.length)
      expect(await snapshot(config)).toEqual(before)
      if (from.length === 1) return
      // Also if the existing warehouse was itself rebuilt without these files.
      await replay({ config, allowIncomplete: true })
      expect(await snapshot(config)).toEqual(before)
    },
  )
})
