import { describe, expect, it } from 'vitest'
import { CANARY } from '../../../src/sandbox/world/agents/secret-bearing.ts'
import { DAY, open } from '../caller.ts'
import { ask, resources } from './writer.ts'

const patch = (sandbox: Awaited<ReturnType<typeof open>>, updates: unknown, id = 'ws_demo') =>
  ask(sandbox, 'PATCH', `/v3/workspaces/${id}`, { updates })

describe('the workspace', () => {
  it('is answered with every documented field, and changes only in the given ones', async () => {
    const sandbox = await open()
    const { body: before } = await patch(sandbox, {})
    expect(
      Object.keys(before.data as object)
        .sort()
        .join(' '),
    ).toBe('displayName email hasEverPaid photoURL region uid workspaceEmails workspaceName')
    const { status, body } = await patch(sandbox, { workspaceName: 'Nørth', automaticBilling: true })
    expect([status, body.data]).toEqual([200, { ...(before.data as object), workspaceName: 'Nørth' }])
    const emails = await patch(sandbox, { workspaceEmails: ['a@example.com'] })
    expect(emails.body.data).toMatchObject({ workspaceName: 'Nørth', workspaceEmails: ['a@example.com'] })
  })

  it('may not take the username of another one; the status is a reading', async () => {
    const taken = { marketplaceProfile: { username: 'Nova-Labs' } }
    const sandbox = await open()
    const { status, body } = await patch(sandbox, { ...taken, workspaceName: 'New' })
    expect([status, body.code]).toEqual([409, 'CONFLICT'])
    expect((await patch(sandbox, {})).body.data).not.toMatchObject({ workspaceName: 'New' })
    expect((await patch(sandbox, { marketplaceProfile: { username: 'ours', email: 'a@example.com' } })).status).toBe(
      200,
    )
    expect((await patch(await open({ readings: { 'username-taken': '400' } }), taken)).status).toBe(400)
  })

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
  type Page = { data: { page: Record<string, unknown>; content: Record<string, unknown> } }
  const JOBS = '/v3/workspaces/ws_demo/crawler/jobs'

  it('has pages with every documented field, and one that failed', async () => {
    const sandbox = await open()
    const [job] = (await resources(sandbox)).crawlerJobs
    const failed: unknown[] = []
    for (const id of job!.pages) {
      const { page, content } = (await ask<Page>(sandbox, 'GET', `${JOBS}/${job!.id}/pages/${id}`)).body.data
      const scraped = content.scrapeResponse as { markdown?: string; html?: string; err: unknown; metadata: object }
      expect(page).toMatchObject({
        id,
        url: content.urlScraped,
        mdCharCount: scraped.markdown?.length ?? 0,
        htmlCharCount: scraped.html?.length ?? 0,
      })
      expect(page.failed).toBe(scraped.markdown === undefined)
      failed.push(page.failed)
    }
    expect(failed.filter(Boolean)).toHaveLength(1)
  })

  it('has secrets in addresses and errors', async () => {
    const sandbox = await open()
    const [job] = (await resources(sandbox)).crawlerJobs
    const page = async (number: number) =>
      JSON.stringify((await ask(sandbox, 'GET', `${JOBS}/${job!.id}/pages/${job!.pages[number]}`)).body)
    expect(await page(1)).toContain(`token=${CANARY}`)
    expect(await page(2)).toContain(`Bearer ${CANARY}`)
  })

  it('is gone with its pages once it is deleted; the others stay', async () => {
    const sandbox = await open()
    const [first, second] = (await resources(sandbox)).crawlerJobs
    const remove = () => ask(sandbox, 'DELETE', `${JOBS}/${first!.id}`)
    const { status, body } = await remove()
    expect([status, body]).toEqual([200, { success: true, message: expect.any(String) }])
    const page = (job: typeof first) => ask(sandbox, 'GET', `${JOBS}/${job!.id}/pages/${job!.pages[0]}`)
    expect([(await page(first)).status, (await remove()).status, (await page(second)).status]).toEqual([404, 404, 200])
    expect((await resources(sandbox)).crawlerJobs.map(({ id }) => id)).not.toContain(first!.id)
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
