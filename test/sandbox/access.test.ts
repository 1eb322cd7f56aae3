import { describe, expect, it } from 'vitest'
import { exportPage, exportPath, firstAgent, open, refusal } from './caller.ts'

const envelope = (code: string) => ({ message: expect.any(String), code, issues: [{ message: expect.any(String) }] })

describe('a caller', () => {
  it.each([
    ['no header', {}],
    ['another token', { authorization: 'Bearer wrong' }],
    ['another scheme', { authorization: 'Basic test-token' }],
    ['a part of the token', { authorization: 'Bearer test-toke' }],
  ])('with %s is refused with the error envelope', async (_, headers) => {
    const sandbox = await open()
    for (const path of [exportPath(firstAgent(sandbox)), '/v3/agents/search', '/v3/nowhere']) {
      const { status, body } = await refusal(sandbox, path, { headers: headers as Record<string, string> })
      expect({ status, body }).toEqual({ status: 401, body: envelope('UNAUTHORIZED') })
    }
  })
})

describe('a path', () => {
  it.each(['/v3/agents/agent_unknown/convos/export', '/v3/voice', '/v3/agents/%E0%A4%A/convos/export', '/'])(
    '%s that does not exist is not found',
    async path => {
      const sandbox = await open()
      const { status, body } = await refusal(sandbox, path)
      expect({ status, body }).toEqual({ status: 404, body: envelope('NOT_FOUND') })
    },
  )

  it('accepts only GET', async () => {
    const sandbox = await open()
    for (const path of [exportPath(firstAgent(sandbox)), '/v3/agents/search']) {
      const { status, headers, body } = await refusal(sandbox, path, {
        method: 'POST',
        body: '{}',
        headers: { authorization: 'Bearer test-token' },
      })
      expect({ status, allow: headers.get('allow'), body }).toEqual({
        status: 405,
        allow: 'GET',
        body: envelope('METHOD_NOT_SUPPORTED'),
      })
    }
  })

  it('reports every problem of a query', async () => {
    const sandbox = await open()
    const { body } = await refusal(sandbox, exportPath(firstAgent(sandbox), { limit: 0, sort: 'up', toTs: 'now' }))
    expect(body.issues).toHaveLength(3)
  })
})

describe('the Date header of an answer', () => {
  it('is the time of the sandbox’s clock', async () => {
    const sandbox = await open()
    sandbox.clock.set(Date.UTC(2031, 0, 2, 3, 4, 5))
    const { headers } = await refusal(sandbox, '/v3/nowhere')
    expect(headers.get('date')).toBe('Thu, 02 Jan 2031 03:04:05 GMT')
    await expect(exportPage(sandbox, firstAgent(sandbox))).resolves.toMatchObject({ success: true })
  })
})
