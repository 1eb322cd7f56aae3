// Runs cases one after another as the query socket does, and prints each one before it runs: `child.js SEED FROM TO UNTIL_MS`.
import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWarehouse } from '../../src/warehouse/open.ts'
import { queryIn } from '../../src/warehouse/query/query.ts'
import { openSession } from '../../src/warehouse/query/session.ts'
import { caseAt, type FunctionFacts } from './cases.ts'

const FUNCTIONS = `SELECT function_name AS name, function_type AS kind, parameter_types::VARCHAR[] AS parameters
  FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro', 'table', 'table_macro') AND database_name = 'system'
  ORDER BY ALL`

const TIMEOUT_MS = 3_000

const [seed, from, to, untilMs] = process.argv.slice(2).map(Number) as [number, number, number, number]
const home = mkdtempSync(join(tmpdir(), 'fuzz-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const warehouse = await openWarehouse({ home, memoryLimit: '500MB', threads: 2 })

const functions = await warehouse.writer.rows<FunctionFacts & { parameters: string[] | null }>(FUNCTIONS)
const known = functions.map(facts => ({ ...facts, parameters: facts.parameters ?? [] }))

async function run(sql: string): Promise<string> {
  const connection = await warehouse.instance.connect()
  const session = await openSession(connection, { timeoutMs: TIMEOUT_MS })
  try {
    const result = await queryIn(session, { connection, sql, maxRows: 10_000 })
    for await (const _ of result.batches);
    return 'ok'
  } catch (error) {
    const { code = '', message } = error as { code?: string; message: string }
    return `${code} ${message.split('\n')[0]}`
  } finally {
    await session.close()
    connection.closeSync()
  }
}

const printLine = (value: object): void => void writeSync(1, `${JSON.stringify(value)}\n`)

for (let number = from; number < to && Date.now() < untilMs; number++) {
  const sql = caseAt(seed, number, known)
  printLine({ number, sql: sql.length > 400 ? `${sql.slice(0, 150)} … ${sql.slice(-50)}` : sql, length: sql.length })
  const outcome = await run(sql)
  printLine({ number, outcome: outcome.slice(0, 200) })
  // After such an error the DuckDB instance answers no other query; in production, the supervisor then restarts the process.
  if (/FATAL|INTERNAL|invalidated/.test(outcome)) process.exit(99)
}
printLine({ done: true })
process.exit(0)
