import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ConvohouseError } from '../../../src/core/errors.ts'
import { freshWindow, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const CANARY = 'canary-of-a-person'

const page = (workspace: Workspace, elements: readonly string[]) =>
  landConversations(workspace.landing, { body: `{"data":[${elements.join(',')}]}` })

const ids = async (workspace: Workspace) =>
  (await workspace.rows('conversations', 'conversation_id AS id')).map(row => row.id)

const quarantined = (workspace: Workspace) => workspace.rows('_quarantine', 'element, reason')

describe('records that DuckDB refuses even when they are coerced', () => {
  // The column of summaries accepts only numbers, as after a manual change of the schema.
  const alter = (type: string) =>
    app.warehouse.writer.run(`ALTER TABLE conversations ALTER COLUMN summary TYPE ${type}`)
  beforeAll(() => alter('INTEGER'))
  afterAll(() => alter('VARCHAR'))

  const records = (length: number, faulty: readonly number[]) =>
    Array.from({ length }, (_, index) => ({
      ID: `c${index + 1}`,
      summary: faulty.includes(index + 1) ? `${CANARY} ${index}` : '7',
      tags: ['a'],
    }))

  it('are quarantined, and the others of their page are loaded', async () => {
    const [length, faulty] = [8, [1, 3, 4, 8]]
    const workspace = app.workspace()
    const landed = await page(
      workspace,
      records(length, faulty).map(record => JSON.stringify(record)),
    )
    const result = await workspace.load(landed)
    const good = length - faulty.length
    expect(result).toMatchObject({ files: 1, records: good, quarantined: faulty.length })
    expect(await quarantined(workspace)).toEqual(
      faulty.map(element => ({ element, reason: 'Conversion Error in column summary' })),
    )
    expect(await ids(workspace)).toHaveLength(good)
    for (const table of ['conversation_observations', 'conversation_tags'])
      expect(await workspace.rows(table, 'conversation_id'), table).toHaveLength(good)
    expect(await workspace.rows('_loads', 'records, coerced')).toEqual([{ records: String(good), coerced: true }])
  })

  it('hold back neither later pages nor those of other windows', async () => {
    const workspace = app.workspace()
    const window = freshWindow()
    const paged = (sequence: number, hasMore: boolean, summary: string) =>
      landConversations(workspace.landing, {
        records: [{ ID: `c${sequence}`, summary }],
        window,
        facts: { sequence, hasMore, cursorOut: hasMore ? `cursor ${sequence}` : null },
      })
    const pages = [await paged(1, true, '1'), await paged(2, true, CANARY), await paged(3, false, '3')]
    await workspace.load(...pages, await page(workspace, ['{"ID":"elsewhere"}']))
    expect(await ids(workspace)).toEqual(['c1', 'c3', 'elsewhere'])
    expect(await workspace.rows('_windows', 'done, pages')).toEqual([
      { done: true, pages: 1 },
      { done: true, pages: 3 },
    ])
  })

  it('reveal no value in any table or message', async () => {
    const workspace = app.workspace()
    // The value looks like the column name itself.
    const misleading = `${CANARY} when casting from source column ${CANARY.replaceAll('-', '_')}`
    await workspace.load(
      await page(workspace, [
        JSON.stringify({ ID: 'c', summary: misleading, [`${CANARY}@mail.example`]: 1, other: CANARY }),
        JSON.stringify({
          ID: 'd',
          userName: [CANARY],
          messagesNum: CANARY,
          csat: CANARY,
          tags: { of: CANARY },
          'a b': CANARY,
        }),
        JSON.stringify(CANARY),
        JSON.stringify({ noId: CANARY }),
      ]),
    )
    for (const table of ['_issues', '_drift', '_quarantine', '_loads', '_requests', '_windows', '_quota'])
      expect(JSON.stringify(await workspace.rows(table)), table).not.toContain(CANARY)
    expect(await quarantined(workspace)).toEqual([
      { element: 1, reason: 'Conversion Error in column summary' },
      { element: 3, reason: 'string without a usable ID' },
      { element: 4, reason: 'object without a usable ID' },
    ])
    // Proves that the check can fail: the values are in the warehouse.
    expect(JSON.stringify(await workspace.rows('conversations'))).toContain(CANARY)
  })
})

describe('an error that no record causes', () => {
  it('stops its window, quarantines nothing, and reveals no value', async () => {
    const workspace = app.workspace()
    const { writer } = app.warehouse
    await writer.run('ALTER TABLE conversation_tags RENAME TO conversation_tags_away')
    onTestFinished(() => writer.run('ALTER TABLE conversation_tags_away RENAME TO conversation_tags'))
    const landed = await page(workspace, [JSON.stringify({ ID: CANARY, tags: [CANARY], messagesNum: CANARY })])
    const error = await workspace.load(landed).then(
      () => expect.fail('it was loaded'),
      (error: unknown) => (error instanceof ConvohouseError ? error : expect.fail(`not ours: ${error}`)),
    )
    expect(error.code).toBe('LOAD_FAILED')
    expect(error.message).toBe(`The landed file ${landed.address} could not be loaded: Catalog Error`)
    const cause = error.cause as Error
    expect(`${cause.message} ${cause.stack}`).not.toContain(CANARY)
    expect(await quarantined(workspace)).toEqual([])
    expect(await workspace.rows('_loads')).toEqual([])
  })
})

describe('an element that cannot be a record', () => {
  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

  it('is quarantined if DuckDB could not parse it', async () => {
    const workspace = app.workspace()
    await workspace.load(await page(workspace, ['{"ID":"good"}', `{"ID":"deep","x":${deep(20_000)}}`]))
    expect(await ids(workspace)).toEqual(['good'])
    expect(await quarantined(workspace)).toEqual([{ element: 2, reason: 'nested deeper than 500 levels' }])
  })

  it('is quarantined if bytes of its id are not UTF-8, and only then', async () => {
    const workspace = app.workspace()
    const parts = [
      '{"data":[{"ID":"a',
      0xff,
      '"},{"ID":"a',
      0xfe,
      '"},{"ID":"b","summary":"',
      0xff,
      '"},{"ID":"\uFFFD c"}]}',
    ]
    const body = Buffer.concat(parts.map(part => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part))))
    await workspace.load(await landConversations(workspace.landing, { body }))
    expect(await ids(workspace)).toEqual(['b'])
    expect((await quarantined(workspace)).map(row => row.reason)).toEqual(
      Array.from({ length: 3 }, () => 'its ID contains bytes that are not UTF-8'),
    )
    const issues = await workspace.rows('_issues', 'path, issue, occurrences')
    expect(issues).toContainEqual({ path: '(record)', issue: 'bytes that are no UTF-8', occurrences: '1' })
  })
})

describe('a record', () => {
  it('with 10,000 undeclared keys keeps all of them, and reports one path', async () => {
    const workspace = app.workspace()
    const keys = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`person_${index}`, index]))
    await workspace.load(await page(workspace, [JSON.stringify({ ID: 'c', ...keys }), '{"ID":"d","title":"t"}']))
    const [row] = await workspace.rows('conversations', 'extra')
    expect(JSON.parse(String(row?.extra))).toEqual(keys)
    expect(await workspace.rows('_drift', 'path, occurrences')).toEqual([{ path: '*', occurrences: '10001' }])
  })

  it('of 17 MB in a page that must be coerced is loaded completely', async () => {
    const workspace = app.workspace()
    const summary = 'x'.repeat(17_000_000)
    const elements = [{ ID: 'long', summary, isTest: 'maybe' }, { ID: 'short' }].map(record => JSON.stringify(record))
    await workspace.load(await page(workspace, elements))
    expect(await workspace.rows('conversations', 'conversation_id, length(summary)::INTEGER AS n')).toEqual([
      { conversation_id: 'long', n: summary.length },
      { conversation_id: 'short', n: null },
    ])
  })
})
