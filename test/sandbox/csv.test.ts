import { describe, expect, it } from 'vitest'
import { EXPORT_FIELDS } from '../../src/sandbox/world/conversation/record-shape.ts'
import { call, exportPage, exportPath, firstAgent, open } from './caller.ts'

/** An RFC 4180 parser, independent of the sandbox's writer. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  let cell = ''
  let quoted = false
  for (let place = 0; place < text.length; place++) {
    const char = text[place]!
    if (quoted) {
      if (char !== '"') cell += char
      else if (text[place + 1] === '"') cell += text[++place]
      else quoted = false
    } else if (char === '"') quoted = true
    else if (char === ',' || char === '\r') {
      rows.at(-1)!.push(cell)
      cell = ''
      if (char === '\r') {
        rows.push([])
        place++
      }
    } else cell += char
  }
  return rows.slice(0, -1)
}

function asText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

describe('an export as CSV', () => {
  it('has a header and the values of the JSON form', async () => {
    const sandbox = await open()
    const agentId = firstAgent(sandbox)
    const json = await exportPage(sandbox, agentId, { limit: 100 })
    const response = await call(sandbox, exportPath(agentId, { limit: 100, format: 'csv' }))
    expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [header, ...rows] = readCsv(await response.text())
    expect(header).toEqual(EXPORT_FIELDS)
    expect(rows).toEqual(json.data.map(record => EXPORT_FIELDS.map(field => asText(record[field]))))
    expect(rows.flat().some(cell => cell.includes('\n') && cell.includes('"'))).toBe(true)
  })

  it('bills like the JSON form', async () => {
    const sandbox = await open()
    const agentId = firstAgent(sandbox)
    await call(sandbox, exportPath(agentId, { format: 'csv' }))
    const { usage } = await exportPage(sandbox, agentId)
    expect(usage.billableUsedThisPeriod).toBe(2 * usage.billableUsedThisRequest)
  })

  it('is the only format besides JSON', async () => {
    const sandbox = await open()
    await expect(exportPage(sandbox, firstAgent(sandbox), { format: 'xml' })).rejects.toThrow(/^400 .*json, csv/)
  })
})
