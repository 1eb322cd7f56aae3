import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'
import { type SandboxFlags, sandboxOptions } from '../../src/cli/sandbox/sandbox.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
import { cli, start, TOKEN, temporaryFolder } from './cli-process.ts'

/** The sandbox options that result from these arguments, without starting a sandbox. */
async function optionsOf(...args: string[]): Promise<Partial<SandboxOptions>> {
  let options: Partial<SandboxOptions> = {}
  const program = await createProgram(['sandbox'])
  const command = program.commands.find(one => one.name() === 'sandbox')!
  command.action(async (flags: SandboxFlags) => {
    options = await sandboxOptions(flags)
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
    const { faults } = await optionsOf(...rates, '--fault-seed', '9', '--fault-search')
    expect(faults).toEqual({
      seed: 9,
      search: true,
      rates: {
        '503': 0.1,
        slow: { rate: 0.2, param: 1_500 },
        'clock-off': { rate: 1, param: -300_000 },
        'others-requests': { rate: 0, param: 7 },
      },
    })
  })

  it('set a script and the initial behaviour', async () => {
    const path = join(await temporaryFolder(), 'script.json')
    await writeFile(path, '[{"at": 3, "fault": "html"}]')
    expect(
      await optionsOf(
        ...['--fault-script', path, '--late-share', '0.1', '--late-by', '2h', '--ts-unit', 'mixed'],
        ...['--burst-every', '500', '--burst-size', '300', '--clock-offset', '-90s', '--data', 'kept'],
      ),
    ).toMatchObject({
      faults: { script: [{ at: 3, fault: 'html' }] },
      lateShare: 0.1,
      lateMs: 7_200_000,
      tsUnit: 'mixed',
      burstEvery: 500,
      burstSize: 300,
      clockOffsetMs: -90_000,
      data: 'kept',
    })
  })

  it.each([
    [['--fault', 'htlm=0.1'], 'unknown fault "htlm"; the known ones are'],
    [['--fault', 'html'], '--fault html has no rate'],
    [['--fault', 'html=2'], '--fault html=2 has no rate'],
    [['--fault', 'html=0.1:3s'], 'html takes no parameter'],
    [['--fault', 'slow=0.1:soon'], 'the parameter of slow is a whole number'],
    [['--fault-script', 'no-such-file.json'], 'no-such-file.json cannot be read'],
    [['--fault-script', 'package.json'], 'package.json is not a JSON list'],
    [['--clock-offset', 'wrong'], '--clock-offset cannot be "wrong"'],
  ])('are refused: %j', async (args, message) => {
    await expect(optionsOf(...args)).rejects.toMatchObject({
      code: 'FLAG_INVALID',
      message: expect.stringContaining(message),
    })
  })
})

describe('the flags for webhooks', () => {
  it('set the address, the secret, the types, and faults by rate and by script', async () => {
    const path = join(await temporaryFolder(), 'events.json')
    await writeFile(path, '[{"at": 3, "fault": "dropped"}]')
    const options = await optionsOf(
      ...[
        '--webhooks',
        'http://127.0.0.1:1/',
        '--webhook-secret',
        'abc',
        '--webhook-types',
        'lead_captured, bug_reported',
      ],
      ...['--event-fault', 'delayed=0.1:2m', '--event-fault-seed', '4', '--event-fault-script', path],
    )
    expect(options.webhooks).toEqual({
      url: 'http://127.0.0.1:1/',
      secret: 'abc',
      types: ['lead_captured', 'bug_reported'],
      faults: {
        seed: 4,
        rates: { delayed: { rate: 0.1, param: 120_000 } },
        script: [{ at: 3, fault: 'dropped' }],
      },
    })
  })

  it('let the address decide about traffic, unless a flag does', async () => {
    const traffic = async (...args: string[]) => (await optionsOf(...args)).traffic
    expect([await traffic(), await traffic('--traffic'), await traffic('--no-traffic')]).toEqual([
      undefined,
      true,
      false,
    ])
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
    const given = ['--reading', 'paging=nested', '--reading', 'usage-lag=2', '--reading', 'paging=both']
    expect(await optionsOf(...given, '--literal')).toMatchObject({
      readings: { paging: 'both', 'usage-lag': '2' },
      literal: true,
    })
  })

  it.each([
    ['paging=deep', 'paging must be one of flat, nested, both'],
    ['pages=flat', 'unknown reading "pages"; the known ones are paging'],
    ['paging', 'paging must be one of'],
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
    const path = join(await temporaryFolder(), 'script.json')
    await writeFile(path, '[{"at": 2, "fault": 503}]')
    const args = ['--port', '0', '--agents', '1', '--conversations', '50', '--token', TOKEN, '--fault', 'html=1']
    const running = start(['sandbox', ...args, '--fault-script', path, '--json'])
    const line = await new Promise<string>(resolve => running.process.stdout!.once('data', resolve))
    const { url } = JSON.parse(line) as { url: string }
    const headers = { authorization: `Bearer ${TOKEN}` }
    const listed = (await (await fetch(`${url}/v3/agents/search`, { headers })).json()) as { agents: { ID: string }[] }
    const target = `${url}/v3/agents/${listed.agents[0]!.ID}/convos/export`
    const answers = [await fetch(target, { headers }), await fetch(target, { headers })]
    expect(answers.map(({ status }) => status)).toEqual([200, 503])
    expect(await answers[0]!.text()).toContain('<html>')
    running.process.kill('SIGINT')
    expect((await running.ended).code).toBe(0)
  })

  it('does not start with a script that names an unknown fault', async () => {
    const path = join(await temporaryFolder(), 'script.json')
    await writeFile(path, '[{"at": 2, "fault": "nothing"}]')
    const { code, stderr } = await cli(['sandbox', '--port', '0', '--fault-script', path])
    expect(code).toBe(2)
    expect(stderr).toContain('there is no fault "nothing"; known are')
  })

  it('explains every fault in its help', async () => {
    const { stdout } = await cli(['sandbox', '--help'])
    for (const text of [
      'dropped-after',
      'others-requests',
      '--fault slow=0.1:3s',
      'POST /_sandbox/faults',
      '--webhooks',
      'wrong-secret',
    ]) {
      expect(stdout).toContain(text)
    }
  })
})
