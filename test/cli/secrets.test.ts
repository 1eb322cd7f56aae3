import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CANARY } from '../../src/sandbox/agents/canary.ts'
import { cli, scene, TOKEN } from './cli-process.ts'

/** Every file below a folder with its bytes; compressed ones unpacked. */
async function contents(folder: string): Promise<{ path: string; bytes: Buffer }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
  return Promise.all(
    files.map(async path => {
      const bytes = await readFile(path)
      return { path, bytes: path.endsWith('.gz') ? gunzipSync(bytes) : bytes }
    }),
  )
}

describe('a secret', () => {
  it('of the workspace, its agents or its organizations is in no file below the data folder, and in no output', async () => {
    const { env, home, sandbox } = await scene()
    const headers = { authorization: `Bearer ${TOKEN}` }
    // What is looked for is really sent.
    for (const path of ['agents/search', 'orgs/org_alpha'])
      expect(await (await fetch(`${sandbox.url}/v3/${path}`, { headers })).text()).toContain(CANARY)
    const outputs = []
    for (const args of [
      ['plan'],
      ['sync', '--json'],
      ['status'],
      ['doctor'],
      ['replay'],
      ['query', 'FROM agents', '--format', 'json'],
      ['query', 'FROM organizations', '--format', 'json'],
    ])
      outputs.push(await cli(args, { env }))
    for (const { code, stdout, stderr } of outputs) {
      expect(code).toBe(0)
      expect(stdout + stderr).not.toContain(TOKEN)
      expect(stdout + stderr).not.toContain(CANARY)
    }
    const files = await contents(home)
    expect(files.some(({ path }) => path.endsWith('warehouse.duckdb'))).toBe(true)
    for (const stream of ['agents', 'organizations', 'teams'])
      expect(files.some(({ path }) => path.includes(`/${stream}/`))).toBe(true)
    expect(
      files.filter(({ bytes }) => bytes.includes(TOKEN) || bytes.includes(CANARY)).map(({ path }) => path),
    ).toEqual([])
  })

  it('that the vendor does not accept ends with 3, and is not repeated', async () => {
    const { env, home } = await scene()
    const wrong = 'canary-wrong-0815'
    for (const more of [[], ['--json'], ['--verbose']]) {
      const { code, stdout, stderr } = await cli(['sync', ...more], { env: { ...env, CONVOHOUSE_API_TOKEN: wrong } })
      expect(code).toBe(3)
      expect(stderr).toContain('API_UNAUTHORIZED')
      expect(stdout + stderr).not.toContain(wrong)
    }
    expect((await contents(home)).filter(({ bytes }) => bytes.includes(wrong))).toEqual([])
  })
})
