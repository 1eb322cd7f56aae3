import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DAY, HOUR } from '../../src/core/time.ts'
import { openLanding } from '../../src/landing/folder-landing.ts'
import { CANARY } from '../../src/sandbox/world/agents/secret-bearing.ts'
import { WORKSPACE } from '../workflows/simulated/open-simulated-app.ts'
import { simulatedApp } from '../workflows/simulated/simulated-app.ts'

interface Answer {
  total: number
  providersQueried: string[]
  providersFailed: { provider: string; error: string }[]
  voices: { provider: string; voiceId: string }[]
}

/** The sandbox, with answers of voices changed by `change`; `offsets` are those that were asked for. */
async function voicesThrough(upstream: string, offsets: string[], change: (answer: Answer, offset: string) => Answer) {
  const server = createServer(async (request, response) => {
    const authorization = request.headers.authorization ?? ''
    const passed = await fetch(`${upstream}${request.url}`, { headers: { authorization } })
    const text = await passed.text()
    const url = new URL(request.url!, upstream)
    const isVoices = url.pathname === '/v3/voices'
    const offset = url.searchParams.get('offset') ?? ''
    if (isVoices) offsets.push(offset)
    response.writeHead(passed.status, { date: passed.headers.get('date') ?? '' })
    response.end(isVoices ? JSON.stringify(change(JSON.parse(text) as Answer, offset)) : text)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('voices', () => {
  it('are listed daily in two pages; one is missing only if its provider answered and a complete list lacks it', async () => {
    const offsets: string[] = []
    let total = 0
    let change = (answer: Answer, _: string): Answer => {
      total = answer.total
      return answer
    }
    const simulated = await simulatedApp({
      sandbox: { conversations: 0, agents: 1 },
      settings: { resources: ['voices'] },
      through: ({ url }) => voicesThrough(url, offsets, (answer, offset) => change(answer, offset)),
    })
    const counted = async () => {
      const rows = await simulated.rows<{ provider: string; n: number; missing: number }>(
        'SELECT provider, count(*)::INTEGER AS n, count(_missing_since)::INTEGER AS missing FROM voices GROUP BY 1',
      )
      return Object.fromEntries(rows.map(({ provider, n, missing }) => [provider, [n, missing]]))
    }
    const providers = () =>
      simulated.rows(
        'SELECT provider, failed, last_success_at, last_failure_at, last_error FROM voice_providers ORDER BY provider',
      )
    await simulated.sync()
    expect(offsets).toEqual(['0', '500'])
    const first = await counted()
    expect(Object.keys(first).sort()).toEqual(['azure', 'cartesia', 'elevenlabs', 'openai', 'rime'])
    expect(Object.values(first).reduce((sum, [n]) => sum + n!, 0)).toBe(total)
    await simulated.sync()
    expect(offsets).toHaveLength(2)
    expect(
      await simulated.rows("SELECT name, language, accent FROM voices WHERE voice_key LIKE 'azure/%' LIMIT 1"),
    ).toHaveLength(1)

    const nextDay = async () => {
      simulated.advance(DAY + HOUR)
      await simulated.sync()
      return counted()
    }
    // A voice of one provider is gone, and another provider fails.
    simulated.sandbox.conditions.set({ failedProviders: ['azure', 'elevenlabs', 'rime'] })
    change = answer => {
      const voices = answer.voices.filter(
        ({ voiceId }, place) =>
          !(
            answer.voices[place]!.provider === 'openai' &&
            voiceId === answer.voices.find(({ provider }) => provider === 'openai')!.voiceId
          ),
      )
      return { ...answer, voices, total: answer.total - (answer.voices.length - voices.length) }
    }
    expect(await nextDay()).toEqual({ ...first, openai: [first.openai![0]!, 1] })
    const failing = (await providers()) as { provider: string; failed: boolean; last_error: string | null }[]
    expect(failing.filter(({ failed }) => failed).map(({ provider }) => provider)).toEqual([
      'azure',
      'elevenlabs',
      'rime',
    ])
    expect(failing.find(({ provider }) => provider === 'elevenlabs')!.last_error).toMatch(
      /^401 Unauthorized: invalid api key \*\*\*$/,
    )
    expect(failing.every(row => (row as unknown as { last_success_at: unknown }).last_success_at !== null)).toBe(true)
    const landing = openLanding(simulated.config.home).workspace(WORKSPACE)
    for (const { address } of [...(await landing.list('voices')), ...(await landing.list('voice_providers'))])
      expect((await landing.body(address)).toString()).not.toContain(CANARY)
    expect(JSON.stringify([...failing, ...(await simulated.rows('FROM voices'))])).not.toContain(CANARY)

    // Providers answer again; the voice is back. Their last failure is kept.
    simulated.sandbox.conditions.set({ failedProviders: [] })
    change = answer => answer
    expect(await nextDay()).toEqual(first)
    const again = (await providers()) as { failed: boolean; last_error: string | null }[]
    expect(again.map(({ failed, last_error }) => [failed, last_error !== null])).toEqual([
      [false, true],
      [false, false],
      [false, true],
      [false, false],
      [false, true],
    ])

    // A provider fails between two pages: nothing is known to be missing.
    change = (answer, offset) =>
      offset === '0' ? answer : { ...answer, providersFailed: [{ provider: 'rime', error: 'timeout' }], voices: [] }
    expect(await nextDay()).toEqual(first)
    const rows = [await counted(), await providers()]
    await simulated.replay()
    expect([await counted(), await providers()]).toEqual(rows)
  })
})
