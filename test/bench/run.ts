// npm run bench -- NAME [flags]: runs one benchmark. Prints lines of text, then one JSON object as the last line.
import { parseArgs } from 'node:util'
import { dashboardBench } from './dashboard.ts'
import { firstRows } from './first-rows.ts'
import { forgetBench } from './forget.ts'
import { killsBench } from './kills.ts'
import { monthBench } from './month.ts'
import { peersBench } from './peers.ts'
import { publishBench } from './publish.ts'
import { replayBench } from './replay.ts'
import { serveBench } from './serve.ts'
import { sizeBench } from './size.ts'
import { upBench } from './up.ts'
import { upsertBench } from './upsert.ts'
import { webhooksBench } from './webhooks.ts'

const BENCHES = {
  replay: replayBench,
  'first-rows': firstRows,
  forget: forgetBench,
  kills: killsBench,
  peers: peersBench,
  upsert: upsertBench,
  month: monthBench,
  publish: publishBench,
  serve: serveBench,
  dashboard: dashboardBench,
  size: sizeBench,
  up: upBench,
  webhooks: webhooksBench,
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    records: { type: 'string' },
    rounds: { type: 'string' },
    agents: { type: 'string' },
    kills: { type: 'string' },
    seed: { type: 'string' },
    rows: { type: 'string' },
    days: { type: 'string' },
    home: { type: 'string' },
    settings: { type: 'string' },
  },
})

const positive = (name: string, text: string | undefined, fallback: number): number => {
  const value = text === undefined ? fallback : Number(text)
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} must be a whole number of at least 1, not ${text}`)
  return value
}

const bench = BENCHES[positionals[0] as keyof typeof BENCHES]
if (!bench || positionals.length !== 1) {
  console.error(
    `usage: npm run bench -- NAME [--records 20000] [--rounds 3] [--agents 3] [--kills 500] [--seed 1] [--rows 1000000] [--days 14] [--home FOLDER] [--settings '{"refreshOn":"message"}']\nbenches: ${Object.keys(BENCHES).join(', ')}`,
  )
  process.exit(2)
}

const result = await bench({
  records: positive('records', values.records, 20_000),
  rounds: positive('rounds', values.rounds, 3),
  agents: positive('agents', values.agents, 3),
  kills: positive('kills', values.kills, 500),
  seed: positive('seed', values.seed, 1),
  rows: positive('rows', values.rows, 1_000_000),
  days: values.days === undefined ? null : positive('days', values.days, 1),
  home: values.home ?? null,
  settings: JSON.parse(values.settings ?? '{}'),
})
console.log(JSON.stringify(result))
