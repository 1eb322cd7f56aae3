// Temporal's profile file works as docs/operations.md describes.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryFolder } from '../cli/cli-process.ts'
import { inProcess } from '../cli/in-process.ts'
import { describeWithTemporal } from '../run/temporal/with-temporal.ts'
import { isDeep } from '../tier.ts'

describeWithTemporal('a profile in a file', ({ place }) => {
  it('gives the address of Temporal', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'temporal.toml')
    await writeFile(file, `[profile.example]\naddress = "${place.address}"\nnamespace = "${place.namespace}"\n`)
    const workspace = { id: 'ws_1', apiUrl: 'http://127.0.0.1:9', token: { env: 'NONE' }, schedule: { every: '1h' } }
    await writeFile(join(folder, 'convohouse.yaml'), JSON.stringify({ workspaces: [workspace] }))
    const env = { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'example' }
    const schedule = (action: string, more = {}) =>
      inProcess(['schedule', action, '--json'], { cwd: folder, env: { ...env, ...more } })
    expect(await schedule('ensure')).toMatchObject({ code: 0, stdout: expect.stringContaining('created') })
    expect((await schedule('list')).stdout).toContain('"next"')
    // An environment variable takes precedence over Temporal's profile file.
    const other = await schedule('list', { TEMPORAL_NAMESPACE: 'default' })
    expect(JSON.parse(other.stdout)).toMatchObject({ schedule: null })
    const roles = await inProcess(['worker', '--role', 'both'], { cwd: folder, env })
    expect(roles.code).toBe(2)
    if (!isDeep) return
    // No server listens on this port.
    const unreachable = await inProcess(['worker'], { cwd: folder, env: { ...env, TEMPORAL_ADDRESS: '127.0.0.1:9' } })
    expect([unreachable.code, unreachable.stderr]).toEqual([5, expect.stringContaining('error TEMPORAL_UNREACHABLE')])
    // The error says that the namespace does not exist.
    const nowhere = { TEMPORAL_NAMESPACE: 'nowhere' }
    const { code, stderr } = await schedule('list', nowhere)
    expect([code, stderr]).toEqual([
      5,
      expect.stringMatching(/TEMPORAL_UNREACHABLE.*namespace nowhere: .*not found\.[^.]/s),
    ])
  })
})
