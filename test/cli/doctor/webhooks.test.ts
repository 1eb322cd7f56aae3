// Findings of `doctor` about webhook secrets, and about events that are not applied.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Finding } from '../../../src/cli/doctor/findings.ts'
import { writeDrainFailure } from '../../../src/spool/drain-failure.ts'
import { temporaryFolder } from '../cli-process.ts'
import { inProcess } from '../in-process.ts'

it('doctor reports which secret is missing, too short, shared or no longer configured, and why events are not applied', async () => {
  const folder = await temporaryFolder()
  const home = join(folder, 'data')
  const secrets: Record<string, string[] | null> = {
    missing: ['NOWHERE'],
    short: ['SHORT'],
    good: ['GOOD', 'NEXT'],
    same: ['GOOD'],
    silent: null,
    'no-longer': null,
  }
  const workspaces = Object.entries(secrets).map(([id, names]) => ({
    id,
    apiUrl: 'http://127.0.0.1:1',
    token: { env: 'T' },
    ...(names && { webhooks: { secrets: names.map(env => ({ env })) } }),
  }))
  const config = join(folder, 'convohouse.yaml')
  await writeFile(config, JSON.stringify({ home, workspaces }))
  for (const id of ['good', 'no-longer']) await mkdir(join(home, 'spool', id, 'sealed'), { recursive: true })
  const failure = { code: 'HOME_UNUSABLE', what: 'Cannot use it: the disk is full (ENOSPC).', hint: 'Make room.' }
  const at = { sinceMs: Date.now() - 120_000, attempts: 9, nextMs: Date.now(), pid: 1 }
  await writeDrainFailure(home, 'good', { ...failure, ...at })
  const env = { T: 'token', SHORT: 'sh0rt', GOOD: 'whsec-canary-1', NEXT: 'whsec-canary-2' }
  const { code, stdout } = await inProcess(['doctor', '--offline', '--json', '--config', config], { env })
  const { checks } = JSON.parse(stdout) as { checks: Finding[] }
  const found = checks
    .filter(({ check }) => check === 'webhooks')
    .map(({ workspaceId, state, code, found }) => [workspaceId, state, code, found])
  expect(found).toEqual([
    ['missing', 'fail', 'SECRET_MISSING', expect.stringContaining('NOWHERE')],
    ['short', 'fail', 'CONFIG_INVALID', expect.stringContaining('fewer than 8 characters')],
    ['good', 'ok', null, '2 secrets, each set and long enough'],
    ['good', 'warn', null, expect.stringMatching(/events have not been applied for 2 min.*\(ENOSPC\)/)],
    ['same', 'ok', null, '1 secret, each set and long enough'],
    ['no-longer', 'warn', null, expect.stringContaining('no secret is configured now')],
    [null, 'fail', 'CONFIG_INVALID', expect.stringContaining('two workspaces have the same webhook secret')],
  ])
  expect(code).toBe(2)
  expect(stdout).not.toMatch(/sh0rt|whsec/)
})
