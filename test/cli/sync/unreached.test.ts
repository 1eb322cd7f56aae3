// Error messages for an unreachable vendor: which host, which setting, and what to do.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unreachedAddresses } from '../../client/unreached-servers.ts'
import { cli, TOKEN, temporaryFolder } from '../cli-process.ts'
import { inProcess } from '../in-process.ts'

async function configured(
  workspaces: Record<string, string>,
): Promise<{ config: string; env: Record<string, string> }> {
  const folder = await temporaryFolder()
  const config = join(folder, 'convohouse.yaml')
  const listed = Object.entries(workspaces).map(([id, apiUrl]) => ({ id, apiUrl, token: { env: 'T' }, timeout: '1s' }))
  await writeFile(config, JSON.stringify({ home: join(folder, 'data'), threads: 1, workspaces: listed }))
  return { config, env: { T: TOKEN } }
}

describe('an API that cannot be reached', () => {
  it('is reported with host, cause and setting for every cause, without the token', async () => {
    const addresses = await unreachedAddresses()
    const { config, env } = await configured(addresses)
    const { stdout } = await cli(['doctor', '--json', '--config', config], { env })
    expect(stdout).not.toContain(TOKEN)
    const { checks } = JSON.parse(stdout) as {
      checks: { check: string; workspaceId: string; found: string; hint: string }[]
    }
    const findingOf = (way: keyof typeof addresses) => {
      const { found: what, hint } = checks.find(({ check, workspaceId }) => check === 'api' && workspaceId === way)!
      expect([way, what]).toEqual([way, expect.stringContaining(new URL(addresses[way]).host)])
      expect([way, hint]).toEqual([way, expect.stringContaining(`\`apiUrl\` (${addresses[way]})`)])
      return `${what} → ${hint}`
    }
    expect(findingOf('closed')).toMatch(/refused the connection .*ECONNREFUSED.* → Check host and port of/)
    expect(findingOf('unknown')).toMatch(/no-such-host\.invalid cannot be resolved.* → Check/)
    expect(findingOf('self-signed')).toMatch(/does not accept.*SELF_SIGNED_CERT.* → .*clock.*NODE_EXTRA_CA_CERTS/)
    expect(findingOf('no-tls')).toMatch(/does not speak TLS.* → .*must begin with http:\/\//)
    const of = (way: string) => checks.find(({ check, workspaceId }) => check === 'api' && workspaceId === way)!
    expect(of('no-http').found).toMatch(/closed the connection|does not speak HTTP/)
    expect(of('cutting').found).toMatch(/closed the connection before it answered/)
    expect(of('silent').found).toMatch(/was not answered within 1s \(`timeout`\)/)
  })

  it('is reported with its workspace if there are several, in text and in JSON', async () => {
    const { 'self-signed': one, closed: two } = await unreachedAddresses()
    const { config, env } = await configured({ ws_one: one, ws_two: two })
    const { code, stdout, stderr } = await inProcess(['sync', '--config', config], { env })
    expect([code, stdout]).toEqual([5, ''])
    expect(stderr).toMatch(/^ws_one: error API_UNAVAILABLE: .+SELF_SIGNED_CERT/m)
    expect(stderr).toMatch(/^ws_two: error API_UNAVAILABLE: .+ refused the connection/m)
    const json = await inProcess(['sync', '--json', '--config', config], { env })
    const errors = json.stderr
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(errors.map(({ workspaceId, error }) => [workspaceId, error.code]).sort()).toEqual([
      ['ws_one', 'API_UNAVAILABLE'],
      ['ws_two', 'API_UNAVAILABLE'],
    ])
  })
})
