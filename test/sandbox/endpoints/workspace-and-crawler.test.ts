import { describe, expect, it } from 'vitest'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { DAY, open } from '../caller.ts'
import { ask, resources } from './writer.ts'

const patch = (sandbox: Awaited<ReturnType<typeof open>>, updates: unknown, id = 'ws_demo') =>
  ask(sandbox, 'PATCH', `/v3/workspaces/${id}`, { updates })

describe('the workspace', () => {
  it('refuses wrong types, and unknown fields by the reading', async () => {
    expect((await patch(await open(), { workspaceEmails: 'a@example.com' })).status).toBe(400)
    expect((await patch(await open(), { marketplaceProfile: { username: 1 } })).status).toBe(400)
    const unknown = { region: 'na', marketplaceProfile: { likes: 2 } }
    expect((await patch(await open(), unknown)).body.data).toMatchObject({ region: 'eu' })
    const { status, body } = await patch(await open({ literal: true }), unknown)
    expect([status, body.issues]).toEqual([
      400,
      [{ message: 'updates.region is not known' }, { message: 'updates.marketplaceProfile.likes is not known' }],
    ])
  })

  it('of another token is refused', async () => {
    expect((await patch(await open(), {}, 'ws_other')).status).toBe(403)
  })
})

describe('a crawler job', () => {
  const JOBS = '/v3/workspaces/ws_demo/crawler/jobs'

  it('has secrets in addresses and errors', async () => {
    const sandbox = await open()
    const [job] = (await resources(sandbox)).crawlerJobs
    const page = async (number: number) =>
      JSON.stringify((await ask(sandbox, 'GET', `${JOBS}/${job!.id}/pages/${job!.pages[number]}`)).body)
    expect(await page(1)).toContain(`token=${CANARY}`)
    expect(await page(2)).toContain(`Bearer ${CANARY}`)
  })

  it('is unknown, or of another workspace', async () => {
    const sandbox = await open()
    const [job] = (await resources(sandbox)).crawlerJobs
    const status = async (path: string) => (await ask(sandbox, 'GET', path)).status
    expect(await status(`${JOBS}/${job!.id}/pages/page_none`)).toBe(404)
    expect(await status(`${JOBS}/job_none/pages/${job!.pages[0]}`)).toBe(404)
    expect(await status(`/v3/workspaces/ws_other/crawler/jobs/${job!.id}/pages/${job!.pages[0]}`)).toBe(403)
  })

  it('is added from time to time', async () => {
    const sandbox = await open()
    const before = (await resources(sandbox)).crawlerJobs
    sandbox.clock.advance(60 * DAY)
    const after = (await resources(sandbox)).crawlerJobs
    expect(after.length).toBeGreaterThan(before.length)
    expect(after.slice(0, before.length)).toEqual(before)
  })
})
