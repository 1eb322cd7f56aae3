// Conversations of forgotten people are not requested by id, and land with no request for others.
import { writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { DAY } from '../../../src/core/time.ts'
import { requestsTo, STILL } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { exportable, scene } from '../cli-process.ts'
import { countConversations, inProcess, rowsOf } from '../in-process.ts'

it('forgotten conversations are left out of --ids before any request, and dropped from what --full, --refresh and refreshes of a later sync export', async () => {
  const { env, home, sandbox } = await scene({ ...STILL, conversations: 20, agents: 1 }, { pageSize: 10 })
  const run = async (...args: string[]) => {
    const ended = await inProcess(args, { env })
    expect(ended.code, ended.stderr).toBe(0)
    return ended
  }
  await run('sync', '--yes')
  const all = await rowsOf('SELECT agent_id AS agent, conversation_id AS id FROM conversations ORDER BY ALL', env)
  const [gone, other] = all as { agent: string; id: string }[]
  await run('forget', '--conversation', `${gone!.agent}/${gone!.id}`, '--yes')
  const requests = requestsTo(sandbox)
  const asked = async () => (await requests.served()).map(({ query }) => JSON.stringify(query)).join()

  const file = `${home}.ids`
  await writeFile(file, `${gone!.agent},${gone!.id}\n${gone!.id}\n`)
  const before = (await requests.served()).length
  for (const command of ['sync', 'plan']) {
    const { stderr } = await run(command, '--ids', file)
    expect(stderr).toContain('warning: --ids: 2 conversations of forgotten people are not requested (line 1, 2).')
  }
  expect(await requests.served()).toHaveLength(before)

  await writeFile(file, `${gone!.id}\n${other!.agent},${other!.id}\n`)
  const { stdout } = await run('sync', '--ids', file)
  expect(stdout).not.toContain('did not arrive')
  expect((await requests.served()).length).toBe(before + 1)
  if (isDeep) {
    sandbox.clock.advance(2 * DAY)
    await run('sync', '--refresh', '3650d', '--yes')
  }
  expect(await asked()).toContain(other!.id)
  expect(await asked()).not.toContain(gone!.id)

  await run('sync', '--full', '--yes')
  expect(await countConversations(env)).toBe(exportable(sandbox) - 1)
})
