// A token that its owner replaces while a client is in use.
import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { json, PAGE, type ScriptedAnswer } from './scripted-server.ts'
import { clientFor, failureOf, observer, TOKEN } from './vendor-fixture.ts'

const NEW_TOKEN = 'sk_live_N3w+T0ken/8=='
const page = { agentId: 'a1', query: {} }

const refusal = (message = 'Invalid token') => json({ message, code: 'UNAUTHORIZED' }, 401)

/** Returns a source that reads these tokens one after the other and counts the reads; it throws errors. */
function source(...reads: (string | Error)[]) {
  const seen = { reads: 0 }
  const rereadToken = () => {
    const read = reads[Math.min(seen.reads++, reads.length - 1)]!
    if (read instanceof Error) throw read
    return read
  }
  return { seen, rereadToken }
}

const sent = (requests: readonly IncomingMessage[]) =>
  requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''))

describe('a request that is refused with 401', () => {
  it('is sent once more with the new token if its source has one, and each attempt is counted', async () => {
    const { seen, rereadToken } = source(NEW_TOKEN)
    const { client, server } = await clientFor([refusal(), json(PAGE)], { rereadToken })
    const { attempts, outcomes } = observer()
    expect((await client.exportConversations({ ...page, attempts })).envelope.data).toEqual(PAGE.data)
    expect(outcomes).toMatchObject([{ status: 401, error: 'API_UNAUTHORIZED' }, { status: 200 }])
    await client.exportConversations(page)
    expect(sent(server.requests)).toEqual([TOKEN, NEW_TOKEN, NEW_TOKEN])
    expect(seen.reads).toBe(1)
  })

  it.each<[string, (string | Error)[], number]>([
    ['if the source has the same token', [TOKEN], 1],
    ['if the source cannot be read', [new Error('absent')], 1],
    ['if the source holds no token', ['two words'], 1],
    ['if the new token is refused, too, even if a third one has appeared', [NEW_TOKEN, 'sk_live_a_third_token'], 2],
  ])('fails %s', async (_when, reads, requests) => {
    const { seen, rereadToken } = source(...reads)
    const { client, server } = await clientFor([refusal()], { rereadToken })
    expect(await failureOf(client.exportConversations(page))).toMatchObject({ code: 'API_UNAUTHORIZED' })
    expect([server.requests.length, seen.reads]).toEqual([requests, 1])
  })

  it('continues with the new token although another request has read it before', async () => {
    const { rereadToken } = source(NEW_TOKEN)
    let refusals = 2
    const byToken: ScriptedAnswer = response => (refusals-- > 0 ? refusal() : json(PAGE))(response)
    const { client, server } = await clientFor([byToken], { rereadToken })
    await Promise.all([client.exportConversations(page), client.exportConversations(page)])
    expect(sent(server.requests).sort()).toEqual([NEW_TOKEN, NEW_TOKEN, TOKEN, TOKEN].sort())
  })
})

describe('an answer after the token was replaced', () => {
  const both = `${TOKEN} and ${NEW_TOKEN}`

  it('is masked from both tokens: in a page, in an error and in the bytes of a failed answer', async () => {
    const page200 = json({ ...PAGE, echo: both })
    const script = [refusal(both), page200, json({ message: both }, 400)]
    const { client } = await clientFor(script, { rereadToken: source(NEW_TOKEN).rereadToken })
    const answer = await client.exportConversations(page)
    const failure = await failureOf(client.exportConversations(page))
    const texts = [answer.exchange.body.toString(), failure.message, failure.exchange!.body.toString()]
    for (const text of texts) {
      expect(text).toContain('*** and ***')
      for (const token of [TOKEN, NEW_TOKEN]) expect(text).not.toContain(token)
    }
    expect(answer.exchange.tokensMasked).toBe(2)
  })
})
