// `forget` is killed just before a step. The next command that writes finishes: then nothing of the person is left, nothing of
// others is lost, and the receipt is complete.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { erasures } from '../../../src/landing/tombstones.ts'
import { inProcess } from '../../cli/in-process.ts'
import { temporaryHome } from '../../landing/temporary-home.ts'
import { TOKEN_ENV } from '../../scene.ts'
import { isDeep } from '../../tier.ts'
import { rowsIn } from '../webhook-command.ts'
import { argsIn, EMAIL, fillWithPerson, placesIn, run, tracesIn } from './forgotten-home.ts'
import { copyOf, runKilled } from './killed-process.ts'

/** The old warehouse is replaced at the first of these; the journal's entry is written after the second. */
const REPLACED = ['^rename .*rebuilt', '^rm .*query-parts']

/** Points before which the process is killed; `datasynced` is just after an entry of the journal. */
const POINTS: Record<string, readonly string[]> = {
  'after the tombstone': ['^datasynced'],
  'before rows are erased': ['^sql UPDATE _changes', '^sql COMMIT'],
  'after rows are erased': ['^link .*/conversations/'],
  'before a page is replaced': ['^rename .*/conversations/'],
  'before a bundle is written': ['^link .*/bundles/'],
  'while a page is in two bundles': ['^unlink .*/bundles/[0-9a-f]'],
  'before an answer is erased that is not JSON': ['^unlink .*/failed/'],
  'before an archive of events is replaced': ['^rename .*/drained/'],
  'before a sealed segment is written': ['^link .*/sealed/'],
  'before a sealed segment is replaced': ['^rename .*/sealed/'],
  'before the rebuild': ['^rm .*rebuilt'],
  'while pages are loaded': ['^rm .*rebuilt', '^sql INSERT INTO conversations ', '^sql COMMIT'],
  'while events are loaded': ['^rm .*rebuilt', '^sql INSERT INTO leads '],
  'while rows are kept': ['^sql ATTACH .* AS rebuilt', '^sql INSERT INTO rebuilt'],
  'before the warehouse is replaced': ['^rename .*rebuilt'],
  'before the journal has its entry': REPLACED,
  'after the journal has its entry': [...REPLACED, '^datasynced'],
  'while a target is written': [...REPLACED, '^sql CREATE TABLE target'],
  'between two targets': [...REPLACED, '^sql CREATE OR REPLACE TEMP TABLE publish_partitions'],
}

const USUAL = ['before the journal has its entry']

/** The vendor's address does not answer, so a sync fails once it has opened the warehouse. */
const UNAVAILABLE = 5

/** Expects that a root has others' data, and nothing of the person in any file. */
async function expectForgotten(root: string, at: string): Promise<void> {
  expect(await tracesIn(root), at).toEqual([])
  const { home } = placesIn(root)
  const sql = `SELECT list_sort(list(conversation_id)) AS ids, (SELECT list(lead_email) FROM leads) AS leads,
    (SELECT list(message_content) FROM messages_received) AS messages FROM conversations`
  const others = { ids: ['a', 'b', 'c'], leads: ['ann@other.example'], messages: ['a'] }
  expect(await rowsIn(home, sql), at).toEqual([others])
  const [receipt, ...more] = await erasures(home)
  expect(more).toEqual([])
  // A repeated step finds nothing any more, but the receipt still counts it.
  const places = { conversations: 2, leads: 1, 'landed pages': 2, 'received events': 2, 'answers that are not JSON': 1 }
  expect(receipt, at).toMatchObject({ places, erasedMs: expect.any(Number) })
}

it('an erasure that is killed just before any step is finished by the next command that writes', {
  timeout: 1_200_000,
}, async () => {
  const root = join(await temporaryHome(), 'root')
  await fillWithPerson(root, { publishes: isDeep })
  expect((await tracesIn(root)).length).toBeGreaterThan(5)
  for (const [at, points] of Object.entries(POINTS).filter(([at]) => isDeep || USUAL.includes(at))) {
    const copy = await copyOf(root)
    const args = await argsIn(copy, 'forget', '--email', EMAIL, '--yes')
    const { code, stderr } = await runKilled({ args, env: () => TOKEN_ENV }, { home: copy, points })
    expect(code, `${at}: ${stderr}`).toBe(null)
    const sync = await inProcess(await argsIn(copy, 'sync', '--yes'), { env: TOKEN_ENV })
    expect(sync.code, sync.stderr).toBe(UNAVAILABLE)
    if (isDeep) {
      const published = await run(copy, 'publish')
      expect(published.code, published.stderr).toBe(0)
      const { stdout } = await inProcess(await argsIn(copy, 'erasures', '--json'), { env: TOKEN_ENV })
      expect(JSON.parse(stdout), at).toMatchObject({ erasures: [{ open: [], targets: { file: expect.any(Number) } }] })
      const checked = await inProcess(await argsIn(copy, 'check'), { env: TOKEN_ENV })
      expect(checked.code, checked.stdout).toBe(0)
    }
    await expectForgotten(copy, at)
  }
})
