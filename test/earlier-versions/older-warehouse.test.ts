// A warehouse of an older layout is refused by every command but `replay`, which reads it. `layout-14/README.md` says what the data folder holds.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { warehouseFile } from '../../src/warehouse/open.ts'
import { inProcess } from '../cli/in-process.ts'

const ARCHIVE = fileURLToPath(new URL('layout-14/home.tar.gz', import.meta.url))

/** The data folder, unpacked, with a configuration of one of its two workspaces. */
function unpack(): { home: string; env: Record<string, string> } {
  const home = mkdtempSync(join(tmpdir(), 'convohouse-older-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  execFileSync('tar', ['-xzf', ARCHIVE, '-C', home])
  const env = {
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_WORKSPACE: 'ws_first',
    CONVOHOUSE_API_URL: 'http://127.0.0.1:9',
    CONVOHOUSE_API_TOKEN: 'token',
  }
  return { home, env }
}

const digest = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex')

describe('a warehouse of layout 14', () => {
  it('is refused by every command but replay, and stays unchanged', async () => {
    const { home, env } = unpack()
    const before = digest(warehouseFile(home))
    const parquet = join(home, 'rows.parquet')
    const commands = [
      ['sync'],
      ['plan'],
      ['status'],
      ['status', '--json'],
      ['ledger'],
      ['ledger', '--format', 'csv'],
      ['query', 'SELECT count(*) FROM conversations'],
      ['query', 'SELECT count(*) FROM conversations', '--output', parquet],
      ['quarantine', 'list'],
      ['quarantine', 'retry'],
      ['replay', '--table', '_drift'],
    ]
    for (const args of commands) {
      const { code, stdout, stderr } = await inProcess(args, { env })
      expect([args, code]).toEqual([args, 6])
      expect(stdout + stderr, args.join(' ')).toContain('An earlier convohouse wrote the warehouse (layout 14;')
      expect(stdout + stderr, args.join(' ')).toContain('Run `convohouse replay`')
    }
    const { stdout } = await inProcess(['doctor', '--json'], { env })
    expect(stdout).toContain('"code":"WAREHOUSE_OLDER"')
    expect(digest(warehouseFile(home))).toBe(before)
    expect(readdirSync(home).filter(name => name.startsWith('warehouse'))).toEqual(['warehouse.duckdb'])
  })
})
