import { expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { type SandboxFlags, sandboxOptions } from '../../src/cli/sandbox.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { start, TOKEN } from './cli-process.ts'

/** Returns the sandbox options that result from these words, without starting a sandbox. */
async function optionsOf(words: string): Promise<Partial<SandboxOptions>> {
  let options: Partial<SandboxOptions> = {}
  const program = await createProgram(['sandbox'])
  const command = program.commands.find(one => one.name() === 'sandbox')!
  command.action((flags: SandboxFlags) => {
    options = sandboxOptions(flags)
  })
  await program.parseAsync(['sandbox', ...words.split(' ').filter(Boolean)], { from: 'user' })
  return options
}

it.each<[words: string, options: Partial<SandboxOptions>]>([
  ['', {}],
  ['--latency 2s --unpaid', { latencyMs: 2_000, paid: false }],
  [
    '--fault 503=.1 --fault slow=0.2:1500ms --fault clock-off=1:-5m --fault others-requests=0:7',
    {
      faults: {
        rates: {
          503: 0.1,
          slow: { rate: 0.2, param: 1_500 },
          'clock-off': { rate: 1, param: -300_000 },
          'others-requests': { rate: 0, param: 7 },
        },
      },
    },
  ],
  ['--webhooks http://127.0.0.1:1/ --webhook-secret abc', { webhooks: { url: 'http://127.0.0.1:1/', secret: 'abc' } }],
  [
    '--hostile odd-id=0.5 --hostile huge-record=0.001:1000000',
    { hostile: { 'odd-id': 0.5, 'huge-record': { rate: 0.001, param: 1_000_000 } } },
  ],
])('the flags %j set options of the sandbox', async (words, options) => {
  expect(await optionsOf(words)).toEqual({ faults: { rates: undefined }, webhooks: {}, ...options })
})

it.each([
  ['--fault htlm=0.1', 'there is no fault "htlm"; known are'],
  ['--fault html', 'a rate is a number from 0 to 1'],
  ['--fault html=2', '--fault html=2: html: '],
  ['--fault html=0.1:3', 'html takes no parameter'],
  ['--fault slow=0.1:soon', '--fault slow=0.1:soon: slow: '],
  ['--hostile odd-ids=0.5', 'there is no hostile record "odd-ids"; known are'],
])('the flags %s are refused', async (words, message) => {
  await expect(optionsOf(words)).rejects.toMatchObject({
    code: 'FLAG_INVALID',
    message: expect.stringContaining(message),
  })
})

it('the command serves the API with faults until it is stopped, and prints its address as JSON', async () => {
  const args = ['--port', '0', '--agents', '1', '--conversations', '50', '--token', TOKEN, '--fault', 'html=1']
  const running = start(['sandbox', ...args, '--json'])
  const { url, port, workspaceId } = JSON.parse(await running.firstLine())
  expect({ url, workspaceId }).toEqual({ url: `http://127.0.0.1:${port}`, workspaceId: 'ws_demo' })
  const headers = { authorization: `Bearer ${TOKEN}` }
  const listed = (await (await fetch(`${url}/v3/agents/search`, { headers })).json()) as { agents: { ID: string }[] }
  const answer = await fetch(`${url}/v3/agents/${listed.agents[0]!.ID}/convos/export`, { headers })
  expect([answer.status, (await answer.text()).includes('<html>')]).toEqual([200, true])
  running.process.kill('SIGINT')
  expect((await running.ended).code).toBe(0)
})
