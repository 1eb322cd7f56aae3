import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { ConvohouseError } from '../../../src/core/errors.ts'
import { anyConversation } from '../../catalog/arbitrary-records.ts'
import { isDeep, rounds } from '../../tier.ts'
import { AGENT, freshWindow, landConversations } from '../landed-pages.ts'
import { temporaryWarehouse, type Workspace } from '../temporary-warehouse.ts'

const app = temporaryWarehouse()

const CANARY = 'canary-of-a-person'
/** Number of random pages. */
const RUNS = rounds('FAULT_RUNS', { usual: 3, deep: 200 })

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

  it.each([
    ...(isDeep ? [['the first and the last', 4, [1, 4]] as const] : []),
    ['two beside each other and one apart', 8, [3, 4, 7]] as const,
    ['all', 2, [1, 2]] as const,
  ])('are quarantined, and the others of their page are loaded: %s', async (_, length, faulty) => {
    const workspace = app.workspace()
    const landed = await page(
      workspace,
      records(length, faulty).map(record => JSON.stringify(record)),
    )
    const result = await workspace.load(landed)
    const good = length - faulty.length
    expect(result).toMatchObject({ files: 1, records: good, inserted: good, quarantined: faulty.length })
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

  it('is quarantined with its reason', async () => {
    const workspace = app.workspace()
    const elements = [
      '{"ID":"good"}',
      `{"ID":"deep","x":${deep(20_000)}}`,
      String.raw`{"ID":"half \ud800"}`,
      '{"ID":null}',
      '{"ID":{"a":1}}',
      '{"id":"lower"}',
      '{"ID":"also good","origin":{"deep":{"er":1}}}',
    ]
    await workspace.load(await page(workspace, elements))
    expect(await ids(workspace)).toEqual(['also good', 'good'])
    expect(await quarantined(workspace)).toEqual([
      { element: 2, reason: 'nested deeper than 500 levels' },
      { element: 3, reason: 'its ID contains half of a surrogate pair' },
      { element: 4, reason: 'object without a usable ID' },
      { element: 5, reason: 'object without a usable ID' },
      { element: 6, reason: 'object without a usable ID' },
    ])
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

  it('of 20 MB in a page that must be coerced is loaded completely', async () => {
    const workspace = app.workspace()
    const summary = 'twenty megabytes '.repeat(1_200_000)
    const elements = [{ ID: 'long', summary, isTest: 'maybe' }, { ID: 'short' }].map(record => JSON.stringify(record))
    await workspace.load(await page(workspace, elements))
    expect(await workspace.rows('conversations', 'conversation_id, length(summary)::INTEGER AS n')).toEqual([
      { conversation_id: 'long', n: summary.length },
      { conversation_id: 'short', n: null },
    ])
  })
})

/** Texts of malformed elements; `id` is JSON. */
const hostile = (id: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: anyConversation.map(record => withId(record, id)) },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }).map(value => JSON.stringify(value)) },
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        `{"ID":${id},"ID":${id},"csat":{"a":1,"a":2}}`,
        String.raw`{"ID":${id},"\ud800":"\udfff","summary":"a\u0000b","\u0000":1}`,
        `{"ID":${id},"origin":${'['.repeat(600)}${']'.repeat(600)}}`,
        `{"ID":${id},"value":123456789012345678901,"ts":1e400,"messagesNum":"007","x":1.50}`,
        `{"ID":${id},"__proto__":{"ID":"p"},"constructor":1,"iD":2,"csat":[{"x":1}],"crmActivities":{"0":1}}`,
        `{"ID":${id},"capturedVariables":{"a":1,"A":2,"a":3},"tokenUsage":{"usagePerModel":{"m":1,"m":2}}}`,
        `{"ID":${id},"demoDate":"2026-01-01 00:00:00 Mars/Olympus","expectedCloseDate":"0000-00-00","ts":"1e-400"}`,
        `{"ID":${id},"summary":"'; DROP TABLE conversations; --","a'b\\"":"{}"}`,
      ),
    },
  )

const withId = (record: object, id: string): string =>
  `{"ID":${id}${Object.entries(record)
    .filter(([key]) => key !== 'ID')
    .map(([key, value]) => `,${JSON.stringify(key)}:${JSON.stringify(value)}`)
    .join('')}}`

/** Ids of one page that remain distinct under every conversion. */
const anyId = (index: number): fc.Arbitrary<string> =>
  fc.constantFrom(
    `"c${index}"`,
    String(index),
    `90071992547409${String(930 + index)}`,
    `"é ' ${index} \\u0000"`,
    `"${index}.0"`,
  )

const anyPage = fc
  .integer({ min: 1, max: 12 })
  .chain(length => fc.tuple(...Array.from({ length }, (_, index) => anyId(index).chain(hostile))))

const hasUsableId = (text: string): boolean => {
  const value = JSON.parse(text) as { ID?: unknown } | null
  const id = typeof value === 'object' && !Array.isArray(value) ? value?.ID : undefined
  return typeof id === 'number' || (typeof id === 'string' && id !== '')
}

describe('an arbitrary page', () => {
  it('is loaded or quarantined, each record once, and stops no other page', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyPage, { minLength: 1, maxLength: 4 }), async pages => {
        const workspace = app.workspace()
        // Each page belongs to its own agent, so that equal ids on two pages are two conversations.
        const landed = await Promise.all(
          pages.map((elements, index) =>
            landConversations(workspace.landing, {
              body: `{"data":[${elements.join(',')}]}`,
              window: freshWindow({ agentId: `${AGENT}-${index}` }),
            }),
          ),
        )
        const result = await workspace.load(...landed)
        expect(result.files).toBe(pages.length)
        const rows = await workspace.rows('conversations', 'agent_id, conversation_id')
        const held = pages.reduce((sum, elements) => sum + elements.length, 0)
        const quarantinedRows = await workspace.rows('_quarantine', 'file, element')
        const [distinct] = await workspace.rows(
          'conversations',
          'count(DISTINCT (agent_id, conversation_id))::INTEGER AS n',
        )
        expect(rows.length).toBe(distinct!.n)
        expect(rows.length + quarantinedRows.length).toBe(held)
        for (const [index, elements] of pages.entries()) {
          const elementsOfPage = quarantinedRows
            .filter(({ file }) => file === landed[index]!.address)
            .map(({ element }) => Number(element))
          const plain = elements.flatMap((text, at) => (hasUsableId(text) && !text.includes('[[[[[') ? [at + 1] : []))
          expect(elementsOfPage.filter(element => plain.includes(element))).toEqual([])
        }
      }),
      { numRuns: RUNS },
    )
  })
})
