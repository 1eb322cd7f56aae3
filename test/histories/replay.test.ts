// Workers that are restarted on new code go on with workflows that older code began. Each history here was recorded once, and is
// never changed: code that decides otherwise than it did has to be versioned (`patched`), or this fails.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleWorkflowCode, DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'

const logger = new DefaultLogger('ERROR', () => {})
Runtime.install({ logger })

const FOLDER = import.meta.dirname
const SHELL = join(FOLDER, '../../workflows/index.ts')
const recorded = readdirSync(FOLDER).filter(name => name.endsWith('.json'))

const historyIn = (name: string): { events: { eventType: string }[] } =>
  JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))

describe('a history that was recorded', () => {
  let workflowBundle: { code: string }
  beforeAll(async () => {
    workflowBundle = await bundleWorkflowCode({ workflowsPath: SHELL, logger })
  })

  it.each(recorded)('%s is replayed as it was', async name => {
    await Worker.runReplayHistory({ workflowBundle }, historyIn(name), 'sync/ws_demo')
  })

  it('is not replayed where the code decides otherwise', async () => {
    const other = workflowBundle.code.replaceAll('heldUntil', 'heldUntilWhen')
    expect(other).not.toBe(workflowBundle.code)
    const replayed = Worker.runReplayHistory(
      { workflowBundle: { code: other } },
      historyIn(recorded[0]!),
      'sync/ws_demo',
    )
    await expect(replayed).rejects.toThrow(/[Nn]ondeterminism|TMPRL1100/)
  })

  it('tells of no person, and no token', () => {
    for (const name of recorded) expect(readFileSync(join(FOLDER, name), 'utf8')).not.toContain('contract-token')
    expect(recorded.length).toBeGreaterThan(2)
  })
})
