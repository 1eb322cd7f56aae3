// A reader of a lake in a process of its own: asks a dashboard's question again and again, and prints when it asked (ms of the clock) and how
// long the answer took (ms).
import { setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'

const [extensions, attach] = process.argv.slice(2)

const QUESTION = `SELECT f.day, f.channel, count(*), avg(c.value) FROM lake.marts.fct_conversations f
  JOIN lake.conversations c USING (workspace_id, agent_id, conversation_id) GROUP BY ALL ORDER BY ALL`

const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
const connection = await instance.connect()
for (const name of ['postgres_scanner', 'ducklake'])
  await connection.run(`LOAD '${extensions}/${name}.duckdb_extension'`)
await connection.run(attach!)
for (;;) {
  const askedAtMs = Date.now()
  const begunMs = performance.now()
  await connection.runAndReadAll(QUESTION)
  console.log(`${askedAtMs} ${(performance.now() - begunMs).toFixed(1)}`)
  await sleep(200)
}
