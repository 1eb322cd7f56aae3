import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { type SandboxFlags, sandboxOptions } from '../../src/cli/sandbox/sandbox.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { cli, start, TOKEN } from './cli-process.ts'

/** The sandbox options that result from these arguments, without starting a sandbox. */
async function optionsOf(...args: string[]): Promise<Partial<SandboxOptions>> {
  let options: Partial<SandboxOptions> = {}
  const program = await createProgram(['sandbox'])
  const command = program.commands.find(one => one.name() === 'sandbox')!
  command.action((flags: SandboxFlags) => {
    options = sandboxOptions(flags)
  })
  await program.parseAsync(['sandbox', ...args], { from: 'user' })
  return options
}

describe('the flags of the sandbox', () => {
  it('set faults by rate, each with its own parameter', async () => {
    const rates = ['503=.1', 'slow=0.2:1500ms', 'clock-off=1:-5m', 'others-requests=0:7'].flatMap(rate => [
      '--fault',
      rate,
    ])
    const { faults } = await optionsOf(...rates)
    expect(faults).toEqual({
      rates: {
        '503': 0.1,
        slow: { rate: 0.2, param: 1_500 },
        'clock-off': { rate: 1, param: -300_000 },
        'others-requests': { rate: 0, param: 7 },
      },
    })
  })

  it('set the initial behaviour', async () => {
    expect(await optionsOf('--latency', '2s', '--ts', 'activity', '--unpaid')).toMatchObject({
      ...{ latencyMs: 2_000, ts: 'activity', paid: false },
    })
  })

  it.each([
    [['--fault', 'htlm=0.1'], 'unknown fault "htlm"; the known ones are'],
    [['--fault', 'html'], '--fault html has no rate'],
    [['--fault', 'html=2'], '--fault html=2 has no rate'],
    [['--fault', 'html=0.1:3s'], 'html takes no parameter'],
    [['--fault', 'slow=0.1:soon'], 'the parameter of slow is a whole number'],
  ])('are refused: %j', async (args, message) => {
    await expect(optionsOf(...args)).rejects.toMatchObject({
      code: 'FLAG_INVALID',
      message: expect.stringContaining(message),
    })
  })
})

describe('the flags for webhooks', () => {
  it('set the address, the secret, the types, and faults by rate', async () => {
    const types = ['--webhook-types', 'lead_captured, bug_reported']
    const options = await optionsOf(
      ...['--webhooks', 'http://127.0.0.1:1/', '--webhook-secret', 'abc', ...types],
      ...['--event-fault', 'delayed=0.1:2m'],
    )
    expect(options.webhooks).toEqual({
      url: 'http://127.0.0.1:1/',
      secret: 'abc',
      types: ['lead_captured', 'bug_reported'],
      faults: { rates: { delayed: { rate: 0.1, param: 120_000 } } },
    })
  })

  it('are refused if they name an unknown fault', async () => {
    await expect(optionsOf('--event-fault', 'lost=0.1')).rejects.toMatchObject({
      message: expect.stringContaining('unknown event fault "lost"; the known ones are'),
    })
  })
})

describe('the flag for hostile records', () => {
  it('sets a rate and, optionally, a size', async () => {
    const { hostile } = await optionsOf('--hostile', 'odd-id=0.5', '--hostile', 'huge-record=0.001:1000000')
    expect(hostile).toEqual({ 'odd-id': 0.5, 'huge-record': { rate: 0.001, param: 1_000_000 } })
    await expect(optionsOf('--hostile', 'odd-ids=0.5')).rejects.toMatchObject({
      code: 'FLAG_INVALID',
      message: expect.stringContaining('unknown hostile record "odd-ids"; the known ones are'),
    })
  })
})

describe('the flags for ambiguities of the API document', () => {
  it('set readings by name, and all of them to the literal ones', async () => {
    const given = ['--reading', 'usage=nested', '--reading', 'starred=apart', '--reading', 'usage=absent']
    expect(await optionsOf(...given, '--literal')).toMatchObject({
      readings: { usage: 'absent', starred: 'apart' },
      literal: true,
    })
  })

  it.each([
    ['usage=deep', 'usage must be one of present, absent, nested'],
    ['pages=flat', 'unknown reading "pages"; the known ones are last-cursor'],
    ['usage', 'usage must be one of'],
    ['toString=1', 'unknown reading "toString"'],
  ])('are refused: %s', async (text, message) => {
    await expect(optionsOf('--reading', text)).rejects.toMatchObject({
      code: 'FLAG_INVALID',
      message: expect.stringContaining(message),
    })
  })
})

describe('the sandbox command with faults', () => {
  it('serves them', async () => {
    const args = ['--port', '0', '--agents', '1', '--conversations', '50', '--token', TOKEN, '--fault', 'html=1']
    const running = start(['sandbox', ...args, '--json'])
    const line = await new Promise<string>(resolve => running.process.stdout!.once('data', resolve))
    const { url } = JSON.parse(line) as { url: string }
    const headers = { authorization: `Bearer ${TOKEN}` }
    const listed = (await (await fetch(`${url}/v3/agents/search`, { headers })).json()) as { agents: { ID: string }[] }
    const answer = await fetch(`${url}/v3/agents/${listed.agents[0]!.ID}/convos/export`, { headers })
    expect([answer.status, (await answer.text()).includes('<html>')]).toEqual([200, true])
    running.process.kill('SIGINT')
    expect((await running.ended).code).toBe(0)
  })

  it('explains every fault in its help', async () => {
    const { stdout } = await cli(['sandbox', '--help'])
    for (const text of [
      'dropped-after',
      'others-requests',
      '--fault slow=0.1:3s',
      'POST /_sandbox/faults',
      '--webhooks',
      'duplicated',
    ]) {
      expect(stdout).toContain(text)
    }
  })
})
