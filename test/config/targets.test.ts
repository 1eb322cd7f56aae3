// Targets in the configuration: their defaults, and that nothing unknown is accepted.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config.ts'
import type { ConvohouseError } from '../../src/core/errors.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'convohouse-targets-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const WORKSPACE = { id: 'w', apiUrl: 'https://api.example.com', token: { env: 'TOKEN' } }

function read(settings: object) {
  const path = join(folder, 'convohouse.yaml')
  writeFileSync(path, JSON.stringify({ home: 'data', ...settings, workspaces: [WORKSPACE] }))
  return readConfig({ path, env: {} })
}

function refusal(settings: object): ConvohouseError {
  try {
    read(settings)
  } catch (error) {
    return error as ConvohouseError
  }
  throw new Error('it was accepted')
}

const one = (settings: object) => ({ targets: [{ name: 'bi', type: 'snapshot', ...settings }] })

describe('targets of publications', () => {
  it('are none by default', () => {
    expect(read({})).toMatchObject({ targets: [], publish: { everyMs: 900_000, memoryLimit: '512MB' } })
  })

  it('hash what identifies a person, drop what was said, and lie in the data folder, unless they say otherwise', () => {
    const rows = { agents: ['a'] }
    const { targets } = read({
      targets: [
        { name: 'bi', type: 'snapshot' },
        { name: 'lake', type: 'parquet' },
        { name: 'months', type: 'parquet', path: 'out', partitionBy: ['agent', 'month'] },
        { name: 'all', type: 'snapshot', path: 'out/all.duckdb', pii: { identity: 'keep', content: 'keep' }, rows },
      ],
    })
    expect(targets).toEqual([
      {
        name: 'bi',
        type: 'snapshot',
        path: join(folder, 'data/published/bi.duckdb'),
        pii: { identity: 'hash', staff: 'hash', device: 'hash', content: 'drop' },
        rows: null,
      },
      expect.objectContaining({ path: join(folder, 'data/published/lake'), partitionBy: ['month'] }),
      expect.objectContaining({ path: join(folder, 'out'), partitionBy: ['agent', 'month'] }),
      {
        name: 'all',
        type: 'snapshot',
        path: join(folder, 'out/all.duckdb'),
        pii: { identity: 'keep', staff: 'hash', device: 'hash', content: 'keep' },
        rows: { agents: ['a'], organizations: [] },
      },
    ])
  })

  it.each([
    ['an unknown type', one({ type: 'excel' }), /targets\[0\]\.type .*must be one of snapshot/],
    ['an unknown setting', one({ colour: 'red' }), /targets\[0\]\.colour .*not a known setting/],
    ['an unknown class of personal data', one({ pii: { name: 'keep' } }), /targets\[0\]\.pii\.name .*not a known/],
    ['an unknown action', one({ pii: { identity: 'encrypt' } }), /pii\.identity .*one of keep, hash, drop/],
    ['an unknown partition', { targets: [{ name: 'l', type: 'parquet', partitionBy: ['day'] }] }, /partitionBy/],
    [
      'partitions in another order',
      { targets: [{ name: 'l', type: 'parquet', partitionBy: ['month', 'agent'] }] },
      /partitionBy .*must be \[month\] or \[agent, month\]/,
    ],
    ['partitions of a file', one({ partitionBy: ['month'] }), /partitionBy .*not a known setting/],
    ['hashed content', one({ pii: { content: 'hash' } }), /pii\.content .*one of keep, drop/],
    ['an unknown row filter', one({ rows: { teams: ['t'] } }), /targets\[0\]\.rows\.teams .*not a known setting/],
    ['a row filter that selects nothing', one({ rows: {} }), /targets\[0\]\.rows .*agents or organizations/],
    ['an empty list of agents', one({ rows: { agents: [] } }), /rows\.agents .*at least one id/],
    ['a name that is a path', one({ name: '../bi' }), /targets\[0\]\.name .*short name/],
    ['two targets of one name', { targets: [...one({}).targets, ...one({ name: 'BI' }).targets] }, /different names/],
    ['an interval below a minute', { publish: { every: '5s' } }, /publish\.every .*1m at least/],
  ])('are refused with %s', (_, settings, why) => {
    const error = refusal(settings)
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toMatch(why)
  })
})
