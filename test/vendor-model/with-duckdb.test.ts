// Runs histories as in history.test.ts, with DuckDB: their pages land in a folder and are loaded into a warehouse, sync
// by sync. The warehouse must then give the same facts as the memory, on which all other histories rely. A seed that
// fails is run alone with HISTORY_SEED=… HISTORY_ROUNDS=1.
import { expect, it } from 'vitest'
import { quoteText } from '../../src/catalog/layout.ts'
import { endOf } from '../../src/core/run-record.ts'
import { DAY, HOUR } from '../../src/core/time.ts'
import { parsePageName } from '../../src/landing/page-address.ts'
import { warehouseFacts } from '../../src/steps/planning/facts.ts'
import { openPendingPages } from '../../src/steps.ts'
import { loadPages } from '../../src/warehouse/load/load.ts'
import { insertRuns } from '../../src/warehouse/runs.ts'
import { isDeep, rounds } from '../tier.ts'
import { temporaryWarehouse } from '../warehouse/temporary-warehouse.ts'
import { comparable, isTelling, QUESTIONS } from './compared-facts.ts'
import { drawHistory } from './draw-history.ts'
import { type History, runHistory, type SyncOutcome } from './history.ts'
import { memoryFacts } from './memory-facts.ts'
import { newMemoryStore, type StoredPage } from './memory-landing.ts'
import { MemoryWarehouse } from './memory-warehouse.ts'

const app = temporaryWarehouse()

/** A history with rare cases: agents that are refused, gone or stuck, a page that always fails, a full export and a refresh. */
const SELDOM: History = {
  seed: 1,
  agents: ['kept', 'left', 'gone', 'stuck'].map(id => ({ id, history: 30, historyDays: 9, perDay: 2, goesOn: 1 })),
  vendor: { ts: 'activity' },
  behaviours: [
    { kind: 'fails', value: 500, word: 'billed', agentId: 'kept', records: ['kep10'] },
    { kind: 'refused', value: 403, agentId: 'left', fromMs: HOUR },
    { kind: 'refused', value: 404, agentId: 'gone', fromMs: HOUR },
    { kind: 'agents-short', value: 2, fromMs: HOUR },
    { kind: 'page-empty', agentId: 'stuck', fromMs: HOUR },
  ],
  steps: [
    { sync: {} },
    { waitMs: DAY },
    { sync: { mode: 'full', agents: ['kept'] } },
    { waitMs: 2 * DAY },
    { sync: { refresh: { ageMs: 10 * DAY } } },
  ],
}

/** A short history that fills, with the one above, each of the compared facts. */
const FEW = [161]

const { HISTORY_SEED, HISTORY_ROUNDS } = process.env
const IS_CHOSEN = HISTORY_SEED !== undefined || HISTORY_ROUNDS !== undefined

function histories(): History[] {
  const count = rounds('HISTORY_ROUNDS', { usual: FEW.length, deep: 60 })
  const drawn = Array.from({ length: count }, (_, index) => drawHistory(Number(HISTORY_SEED ?? 1) + index))
  return IS_CHOSEN ? drawn : [SELDOM, ...(isDeep ? drawn : FEW.map(drawHistory))]
}

const storedIn = ({ conversations }: MemoryWarehouse) =>
  [...conversations.values()].map(({ seen: _, modifiedMs: __, ...row }) => row)

/** Opens a workspace of the warehouse and a warehouse in memory, into which the same pages are loaded. */
function openBoth() {
  const { id: workspaceId, landing, context } = app.workspace()
  const { warehouse } = app
  const memory = new MemoryWarehouse()

  async function load(landed: readonly StoredPage[], { index, report, beganMs, endedMs }: SyncOutcome): Promise<void> {
    const run = `run${index}`
    const own = landed.filter(({ head }) => head.run === run)
    await Promise.all(own.map(({ head, body }) => landing.land(head, body)))
    const pages = (await openPendingPages({ landing, warehouse, workspaceId, now: () => endedMs })).all()
    const stored = pages.map(async ({ address }) => {
      const [head, body] = [await landing.head(address), await landing.body(address)]
      return { address, ...parsePageName(address)!, head, body }
    })
    memory.load(await Promise.all(stored))
    await loadPages(context, pages)
    if (report === null) return
    const end = endOf(report)
    await insertRuns(warehouse.writer, workspaceId, [{ run, startedMs: beganMs, endedMs, ...end }])
    for (const left of end.agentsLeft ?? []) memory.agentsLeft.push({ ...left, endedMs })
  }

  const stored = () =>
    warehouse.writer.rows(`
      SELECT agent_id AS "agentId", conversation_id AS id, epoch_ms(ts)::DOUBLE AS "tsMs", epoch_ms(first_message_ts)::DOUBLE AS "firstMs",
        epoch_ms(last_message_ts)::DOUBLE AS "lastMs", coalesce(sessions_num, 1)::DOUBLE AS sessions,
        epoch_ms(_fetched_at)::DOUBLE AS "fetchedMs", epoch_ms(_missing_since)::DOUBLE AS "missingSinceMs",
        epoch_ms(_not_exportable_since)::DOUBLE AS "notExportableSinceMs"
      FROM conversations WHERE workspace_id = ${quoteText(workspaceId)} AND _complete`)

  return {
    load,
    ofWarehouse: { ...warehouseFacts(warehouse, workspaceId), stored },
    ofMemory: {
      ...memoryFacts(memory, newMemoryStore(workspaceId)),
      stored: async () => storedIn(memory),
    },
  }
}

it('a warehouse with the pages of a history gives the same answers as the facts in memory', async () => {
  const telling = new Set<string>()
  for (const history of histories()) {
    const { store, syncs, warehouse } = await runHistory(history)
    const { load, ofWarehouse, ofMemory } = openBoth()
    for (const sync of syncs) {
      await load([...store.pages.values()], sync)
      for (const [name, ask] of Object.entries(QUESTIONS)) {
        const [actual, expected] = [await ask(ofWarehouse, sync.endedMs), await ask(ofMemory, sync.endedMs)]
        const about = `${history === SELDOM ? 'SELDOM' : `HISTORY_SEED=${history.seed}`}, sync ${sync.index}: ${name}`
        expect(comparable(name, actual), about).toEqual(comparable(name, expected))
        if (isTelling(actual)) telling.add(name)
      }
    }
    // The history itself loaded its pages in other batches.
    expect(comparable('stored', storedIn(warehouse))).toEqual(comparable('stored', await ofMemory.stored()))
  }
  // Answers that are always empty would prove nothing. Single seeds may leave some empty.
  if (!IS_CHOSEN) expect([...telling].sort()).toEqual(Object.keys(QUESTIONS).sort())
})
