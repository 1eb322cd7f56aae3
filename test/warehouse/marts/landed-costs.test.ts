// Costs in marts against sums over the pages of a small world as they landed, which are computed here without the warehouse.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { refreshMarts } from '../../../src/warehouse/marts/refresh.ts'
import { openSimulatedApp, type SimulatedApp, WORKSPACE } from '../../workflows/simulated/open-simulated-app.ts'

interface Landed {
  ID: string
  isTest?: boolean
  tokenUsage?: Partial<
    Record<'cumulativeInputTokens' | 'cumulativeOutputTokens' | 'cumulativeTotalTokens' | 'cumulativeUsd', number>
  >
  detailedCost?: Partial<Record<'totalCreditsConsumed' | 'speechGenCost' | 'transcriberCost' | 'llmCost', number>>
  ext?: { cost?: number }
}

/** Name of the column in marts, and the value as the vendor sends it. */
const MEASURES = {
  input_tokens: ({ tokenUsage }: Landed) => tokenUsage?.cumulativeInputTokens,
  output_tokens: ({ tokenUsage }: Landed) => tokenUsage?.cumulativeOutputTokens,
  tokens: ({ tokenUsage }: Landed) => tokenUsage?.cumulativeTotalTokens,
  tokens_usd: ({ tokenUsage }: Landed) => tokenUsage?.cumulativeUsd,
  credits: ({ detailedCost }: Landed) => detailedCost?.totalCreditsConsumed,
  llm_cost: ({ detailedCost }: Landed) => detailedCost?.llmCost,
  speech_cost: ({ detailedCost }: Landed) => detailedCost?.speechGenCost,
  transcriber_cost: ({ detailedCost }: Landed) => detailedCost?.transcriberCost,
  call_cost: ({ ext }: Landed) => ext?.cost,
}

/** The last landed version of each conversation. */
async function landedRecords({ app }: SimulatedApp): Promise<Landed[]> {
  const landing = app.stores.landing.workspace(WORKSPACE)
  const last = new Map<string, { atMs: number; record: Landed }>()
  for (const { address } of await landing.list('conversations')) {
    const { sentAtServerMs: atMs, facts } = await landing.head(address)
    const { data } = JSON.parse(Buffer.from(await landing.body(address)).toString()) as { data: Landed[] }
    for (const record of data) {
      const key = JSON.stringify([facts!.window.agentId, record.ID])
      if ((last.get(key)?.atMs ?? 0) <= atMs) last.set(key, { atMs, record })
    }
  }
  return [...last.values()].map(({ record }) => record)
}

const sumsOf = (records: readonly Landed[]) =>
  Object.values(MEASURES).map(measure => records.reduce((sum, record) => sum + (measure(record) ?? 0), 0))

let simulated: SimulatedApp
let close: () => Promise<void>
let records: Landed[]

beforeAll(async () => {
  // With this seed, some conversations are tests.
  const sandbox = { seed: 8, agents: 2, conversations: 120, historyDays: 20, arrivalsPerDay: 10 }
  const opened = await openSimulatedApp({ sandbox })
  simulated = opened.simulated
  close = opened.end
  await simulated.sync()
  simulated.advance(2 * DAY)
  await simulated.sync()
  await refreshMarts(simulated.app.warehouse.writer)
  records = await landedRecords(simulated)
})

afterAll(() => close())

async function expectSums(table: string, expected: readonly number[]): Promise<void> {
  const columns = Object.keys(MEASURES).map(name => `coalesce(sum(${name}), 0)::DOUBLE AS ${name}`)
  const [row] = await simulated.rows<Record<string, number>>(`SELECT ${columns.join(', ')} FROM marts.${table}`)
  for (const [index, name] of Object.keys(MEASURES).entries())
    expect(row![name], `${table}.${name}`).toBeCloseTo(expected[index]!, 6)
}

it('facts have the costs of all conversations that landed', async () => {
  const sums = sumsOf(records)
  expect(records.length).toBeGreaterThan(60)
  for (const sum of sums) expect(sum).toBeGreaterThan(0)
  await expectSums('fct_conversations', sums)
  await expectSums('fct_spend', sums)
})

it('daily figures have those of all that are no tests', async () => {
  const counted = records.filter(({ isTest }) => isTest !== true)
  expect(counted.length).toBeLessThan(records.length)
  await expectSums('conversations_daily', sumsOf(counted))
  await expectSums('spend_daily', sumsOf(counted))
})

it('each measure is reconciled with the records that landed', async () => {
  const rows = await simulated.rows<{ measure: string; booked: number; reported: number; difference: number }>(
    `SELECT measure, sum(booked) AS booked, sum(reported) AS reported, max(abs(difference)) AS difference
     FROM marts.credits WHERE reported IS NOT NULL GROUP BY measure`,
  )
  expect(rows.map(({ measure }) => measure).sort()).toEqual(Object.keys(MEASURES).sort())
  const counted = sumsOf(records.filter(({ isTest }) => isTest !== true))
  for (const [index, name] of Object.keys(MEASURES).entries()) {
    const { booked, reported, difference } = rows.find(({ measure }) => measure === name)!
    for (const sum of [booked, reported]) expect(sum, name).toBeCloseTo(counted[index]!, 4)
    expect(difference, name).toBe(0)
  }
})
