// Settings of webhooks: they name the places of secrets and never contain a secret.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { readWorkspaceSecrets } from '../../src/receiver/authenticate.ts'

const ENV = { CONVOHOUSE_API_URL: 'https://a.example', CONVOHOUSE_API_TOKEN: 't', CONVOHOUSE_WORKSPACE: 'ws' }

async function fromFile(config: object, env: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'convohouse-config-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'kept.txt'), 'secret-in-a-file\n')
  await writeFile(join(folder, 'convohouse.yaml'), JSON.stringify(config))
  return readConfig({ path: join(folder, 'convohouse.yaml'), env })
}

const workspace = (id: string, ...secrets: object[]) => ({
  id,
  apiUrl: 'https://a.example',
  token: { env: 'T' },
  ...(secrets.length > 0 && { webhooks: { secrets } }),
})

describe('the settings of webhooks', () => {
  it('are read from the file', async () => {
    const { webhooks } = await fromFile({ webhooks: { port: 0, maxBody: '2.5MiB' }, workspaces: [workspace('a')] })
    expect(webhooks).toMatchObject({ port: 0, maxBodyBytes: 2_621_440 })
  })

  it.each(['1GB', '12.1MB', '1000B', '8', 'much'])('accept no maximum body of %s', async maxBody => {
    await expect(fromFile({ webhooks: { maxBody }, workspaces: [workspace('a')] })).rejects.toThrow(
      /webhooks.maxBody .*must be a size from 1KiB to 12MB/,
    )
  })
})

describe('webhook secrets', () => {
  it('are read from variables and files on demand, per workspace', async () => {
    const config = await fromFile(
      {
        workspaces: [workspace('a', { env: 'A' }, { file: 'kept.txt' }), workspace('b'), workspace('c', { env: 'C' })],
      },
      { A: 'secret-of-a', C: 'secret-of-c' },
    )
    expect(readWorkspaceSecrets(config)).toEqual([
      { id: 'a', secrets: ['secret-of-a', 'secret-in-a-file'] },
      { id: 'c', secrets: ['secret-of-c'] },
    ])
  })

  it('of one workspace need no file, neither the present one nor the next', () => {
    const named = { CONVOHOUSE_WEBHOOK_SECRET: 'present-one', CONVOHOUSE_WEBHOOK_SECRET_NEXT: 'the-next-one' }
    expect(readWorkspaceSecrets(readConfig({ env: { ...ENV, ...named } }))).toEqual([
      { id: 'ws', secrets: ['present-one', 'the-next-one'] },
    ])
    const file = readConfig({ env: { ...ENV, CONVOHOUSE_WEBHOOK_SECRET_FILE: '/no-such-file' } })
    expect(() => readWorkspaceSecrets(file)).toThrow(
      /\/no-such-file, which must contain the webhook secret, cannot be read/,
    )
    expect(readConfig({ env: ENV }).workspaces[0]!.readWebhookSecrets).toBeNull()
  })

  it.each([
    ['is missing', { env: 'GONE' }, 'SECRET_MISSING', /GONE, which must contain the webhook secret, is not set/],
    ['could be guessed', { env: 'SHORT' }, 'CONFIG_INVALID', /"a" has fewer than 8 characters/],
    ['is that of another workspace', { env: 'B' }, 'CONFIG_INVALID', /two workspaces have the same/],
  ])('are reported without being shown if one %s', async (_what, place, code, message) => {
    const config = await fromFile(
      { workspaces: [workspace('a', place), workspace('b', { env: 'B' })] },
      { B: 'secret-canary', SHORT: 'canary' },
    )
    expect(() => readWorkspaceSecrets(config)).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
    expect(() => readWorkspaceSecrets(config)).not.toThrow(/canary/)
  })
})
