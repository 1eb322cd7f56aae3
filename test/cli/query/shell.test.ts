import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { complete } from '../../../src/cli/query/completion.ts'
import { onOneLine, splitStatements } from '../../../src/warehouse/query/guard/sql-text.ts'
import { start } from '../cli-process.ts'
import { CTRL_C, CTRL_D, onTerminal } from '../on-terminal.ts'
import { syncedOnce } from '../synced-once.ts'

const synced = syncedOnce()

const PROMPT = /convohouse> $/
const UP = '\u001b[A'

describe('the shell', () => {
  it('runs statements, shows errors and goes on, and keeps its history for its user only', async () => {
    const { home, env } = await synced()
    const shell = onTerminal('query', env)
    await shell.type('', PROMPT)
    expect(await shell.type("SELECT 6 * 7 AS answer; SELECT 'a;\r", /\.\.\.> $/)).toMatch(
      /answer\s+─+\s+42\s+\(1 row\)/,
    )
    await shell.type(CTRL_C, PROMPT)
    await shell.type('SELECT 1 + -- one; or\r', /\.\.\.> $/)
    expect(await shell.type(' 1 AS two; -- done\r', PROMPT)).toMatch(/two\s+─+\s+2\s/)
    expect(await shell.type('FROM nowhere;\r', PROMPT)).toContain('error SQL_INVALID: Table with name nowhere')
    expect(await shell.type('DROP TABLE conversations;\r', PROMPT)).toContain('error SQL_REFUSED')
    expect(await shell.type('.mode line\r.timing on\r', PROMPT)).not.toContain('Unknown')
    const lines = await shell.type(`SELECT 1 AS a, 'x' AS longer;\r`, /first rows\s+convohouse> $/)
    expect(lines).toMatch(/ {5}a = 1\s+longer = x\s+\(1 row\)\s+Time: [\d,]+ ms/)
    expect(await shell.type('.nothing\r', PROMPT)).toContain('Unknown command: .nothing')
    await shell.type(UP.repeat(5), 'DROP TABLE conversations;')
    await shell.type(CTRL_C, PROMPT)
    expect(await shell.type(`.quit\r`, '.quit').then(() => shell.ended)).toMatchObject({ code: 0 })
    const file = join(home, 'query-history')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await readFile(file, 'utf8')).split('\n')).toContain('SELECT 1 + /* one; or */ 1 AS two;')
    const next = onTerminal('query', env)
    await next.type('', PROMPT)
    await next.type(UP, '.nothing')
    const without = onTerminal('query --no-history', env)
    await without.type('', PROMPT)
    expect(await without.type(`${UP}SELECT 5 AS five;\r`, /five[\s\S]*convohouse> $/)).not.toContain('.nothing')
    await without.type(CTRL_D, '').then(() => without.ended)
    expect(await readFile(file, 'utf8')).not.toContain('five')
  })

  it('lists tables and columns, completes names, and shows tall answers in a pager', async () => {
    const { env } = await synced()
    const shell = onTerminal('query', { ...env, PAGER: 'head -n 5; echo paged' })
    await shell.type('', PROMPT)
    expect(await shell.type('.tables\r', PROMPT)).toMatch(/schema[\s\S]*paged\s+convohouse> $/)
    const columns = await shell.type('.schema marts.credits\r', PROMPT)
    expect(columns).toMatch(/agent_id\s+VARCHAR/)
    expect(columns).not.toContain('paged')
    await shell.type('SELECT n.chan', 'n.chan')
    await shell.type(CTRL_C, PROMPT)
    await shell.type('FROM marts.conversations_d', '_d')
    await shell.type('\t', 'aily')
    await shell.type(' WHERE ever_r', 'ever_r')
    await shell.type('\t', 'esolved')
    expect(await shell.type(' > 10000;\r', PROMPT)).toContain('(0 rows;')
    // The terminal is the shell's again after a pager that ended early.
    expect(await shell.type('FROM range(100000);\r', PROMPT)).toContain('paged')
    expect(await shell.type('SELECT 42 AS after;\r', PROMPT)).toMatch(/after\s+─+\s+42/)
    await shell.type(CTRL_D, '')
    expect((await shell.ended).code).toBe(0)
  })

  it('cancels a statement with Ctrl-C, also at the process that holds the warehouse', async () => {
    const { env } = await synced()
    const holder = start(['sync', '--watch', '1h'], { env })
    await holder.said('next round at')
    const shell = onTerminal('query', env)
    await shell.type('', PROMPT)
    await shell.type('SELECT count(*) FROM range(1000000) a, range(1000000) b;\r', 'b;')
    await new Promise(resolve => setTimeout(resolve, 1_000))
    expect(await shell.type(CTRL_C, PROMPT)).toContain('error INTERRUPTED')
    expect(await shell.type('SELECT count(*) > 50 AS many FROM conversations;\r', PROMPT)).toMatch(/many\s+─+\s+true/)
    await shell.type(CTRL_D, '')
    expect((await shell.ended).code).toBe(0)
  })
})

it('statements end at semicolons outside of texts and comments', () => {
  expect(splitStatements(`SELECT ';', "a;b", $$;$$ -- ;\n/* ; */; SELECT 2;;\nSELECT 'open;`)).toEqual({
    statements: [`SELECT ';', "a;b", $$;$$ -- ;\n/* ; */;`, ' SELECT 2;'],
    rest: `\nSELECT 'open;`,
  })
  for (const open of ['SELECT $a$ ; ', 'SELECT "x; ', '/* ; '])
    expect(splitStatements(open)).toEqual({ statements: [], rest: open })
  for (const comment of [' -- done\n', ' /* done; */\n', '\n'])
    expect(splitStatements(`SELECT 1;${comment}`)).toEqual({ statements: ['SELECT 1;'], rest: '' })
  expect(splitStatements('SELECT 1; /* and\n').rest).toBe(' /* and\n')
  expect(onOneLine('SELECT 1 -- one\n  + 2;')).toBe('SELECT 1 /* one */ + 2;')
  expect(onOneLine("SELECT 'two\nlines';")).toBeNull()
})

describe('completion', () => {
  const names = [
    { schema: '', table: '', names: ['select', 'set'] },
    { schema: 'main', table: 'conversations', names: ['channel', 'Odd name'] },
    { schema: 'marts', table: 'credits', names: ['measure'] },
  ]
  const hits = (before: string, after = '') => complete(before, before + after, names)[0]

  it('offers tables where one is expected, a schema first', () => {
    expect(hits('FROM ')).toEqual(['conversations', 'marts.'])
    expect(hits('SELECT 1 FROM conversations JOIN marts.')).toEqual(['marts.credits'])
  })

  it('offers columns of the named tables, also behind the cursor, by alias or name', () => {
    expect(hits('SELECT ch', ' FROM conversations')).toEqual(['channel'])
    expect(hits('SELECT c.', ' FROM conversations AS c')).toEqual(['c.channel', 'c."Odd name"'])
    expect(hits('SELECT m', ' FROM conversations')).toEqual(['marts.'])
    expect(hits('FROM marts.credits WHERE m')).toEqual(['measure', 'marts.'])
  })

  it('continues keywords in the case in which they were begun', () => {
    expect(hits('se')).toEqual(['select', 'set'])
    expect(hits('SEL')).toEqual(['SELECT'])
    expect(hits('')).toEqual([])
  })
})
