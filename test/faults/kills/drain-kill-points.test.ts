// Kills the draining process at the two points at which events are in two places: archived and not applied, applied and not removed.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { eventId } from '../../../src/receiver/parse-event.ts'
import { archivedFiles } from '../../../src/spool/archive.ts'
import { spoolFolders } from '../../../src/spool/folders.ts'
import { openSpool } from '../../../src/spool/spool.ts'
import { openWarehouse } from '../../../src/warehouse/open.ts'
import { type Ended, start, temporaryFolder } from '../../cli/cli-process.ts'

const KILL = `process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})`

/** Scripts that run before the command and end it at a call of the file system. */
const POINTS = {
  'after the archive is synced, before anything is applied': `
    import fs from 'node:fs'
    const handle = await fs.promises.open('/dev/null')
    const FileHandle = Object.getPrototypeOf(handle)
    const { datasync } = FileHandle
    FileHandle.datasync = async function () { await datasync.call(this); ${KILL} }`,
  'after the commit, before the segment is removed': `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { unlink } = fs.promises
    fs.promises.unlink = async file => {
      if (String(file).includes('/sealed/')) { ${KILL} }
      return unlink(file)
    }
    syncBuiltinESMExports()`,
}

const TYPE = 'message_received'

async function receive(home: string, texts: readonly string[]): Promise<void> {
  const spool = openSpool({ home, now: Date.now })
  const appended = texts.map(messageContent => {
    const createdAt = Date.now()
    const payload = Buffer.from(JSON.stringify({ agentId: 'a', convoId: 'c', createdAt, messageContent }))
    const id = eventId({ type: TYPE, createdAt, payload })
    return spool.append({ id, type: TYPE, payload, workspaceId: 'ws', receivedAtMs: createdAt })
  })
  await Promise.all(appended)
  await spool.close()
}

/** `sync`, which applies waiting events; the vendor's address does not answer. */
function drain(home: string, script?: string): Promise<Ended> {
  const env = {
    CONVOHOUSE_API_URL: 'http://127.0.0.1:1',
    CONVOHOUSE_API_TOKEN: 'none',
    CONVOHOUSE_WORKSPACE: 'ws',
    CONVOHOUSE_HOME: home,
    CONVOHOUSE_WEBHOOK_SECRET: 'secret',
  }
  const node = script ? ['--import', `data:text/javascript,${encodeURIComponent(script)}`] : []
  return start(['sync', '--yes'], { env, node }).ended
}

async function messagesIn(home: string): Promise<string[]> {
  const warehouse = await openWarehouse({ home, memoryLimit: '1GB', threads: 1 })
  try {
    const sql =
      'SELECT message_content AS text FROM messages_received JOIN webhook_events USING (event_id) ORDER BY ALL'
    return (await warehouse.writer.rows<{ text: string }>(sql)).map(({ text }) => text)
  } finally {
    await warehouse.close()
  }
}

it.each(Object.entries(POINTS))('a kill %s loses and doubles no event', async (_, script) => {
  const home = join(await temporaryFolder(), 'data')
  const { sealed } = spoolFolders(home, 'ws')
  await receive(home, ['one', 'two'])
  expect((await drain(home, script)).code).toBe(null)
  expect(await readdir(sealed)).toHaveLength(1)
  await receive(home, ['three'])
  await drain(home)
  expect(await readdir(sealed)).toEqual([])
  expect(await messagesIn(home)).toEqual(['one', 'three', 'two'])
  const [archive, ...others] = await archivedFiles(home, 'ws')
  expect(others).toEqual([])
  expect((await readFile(archive!, 'utf8')).match(/"messageContent":"\w+"/g)).toHaveLength(3)
})
