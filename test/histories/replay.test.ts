// Restarted workers continue workflows that older code started, so a change of the commands that workflows issue fails here. Until
// the first release, record the histories again after such a change: run the tests that call `record` with RECORD_HISTORIES=1.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { describe, expect, it } from 'vitest'

Runtime.install({ logger: new DefaultLogger('ERROR', () => {}) })

const FOLDER = import.meta.dirname
/** The workflow bundle of the build, because bundling here would take four seconds. */
const BUNDLE = join(FOLDER, '../../dist/workflows/bundle.cjs')
const recorded = readdirSync(FOLDER).filter(name => name.endsWith('.json'))

const historyIn = (name: string): { events: { eventType: string }[] } =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))

/** Returns the text of a history, with its payloads decoded. */
const textIn = (name: string): string =>
  JSON.stringify(
    JSON.parse(readFileSync(join(FOLDER, name), 'utf8'), (key, value) =>
      key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : value,
    ),
  )

describe('a recorded history', () => {
  const workflowBundle = { code: readFileSync(BUNDLE, 'utf8') }

  it.each(recorded)('%s is replayed without a difference', async name => {
    await Worker.runReplayHistory({ workflowBundle }, historyIn(name), 'sync/ws_demo')
  })

  it.each([
    ['calls another activity', 'held-lease.json', 'heldUntil', 'heldUntilWhen'],
    ['does not wait for the holder', 'lost-lease.json', 'if (untilMs === null)', 'if (true)'],
    ['forgets a publication that failed for a person', 'publication.json', 'waiting.push(DUE)', 'void DUE'],
    ['fetches pages where a lease was recovered', 'held-lease.json', 'handling.recoverLease(', 'fetchPages('],
  ])('is not replayed if the code %s', async (_what, name, was, is) => {
    const code = workflowBundle.code.replaceAll(was, is)
    expect(code).not.toBe(workflowBundle.code)
    const replayed = Worker.runReplayHistory({ workflowBundle: { code } }, historyIn(name), 'sync/ws_demo')
    await expect(replayed).rejects.toThrow(/[Nn]ondeterminism|TMPRL1100/)
  })

  it('has no personal data and no token', () => {
    const secrets = /contract-token|messageContent|@[\w-]+\.[a-z]{2}/i
    expect(recorded.filter(name => secrets.test(textIn(name)))).toEqual([])
    expect(recorded.length).toBeGreaterThan(2)
  })
})
