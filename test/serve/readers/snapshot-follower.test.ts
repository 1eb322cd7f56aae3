// Which file the follower opens when files follow each other while one is being opened. Here a process is the text of its file.
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import type { ReaderProcess } from '../../../src/serve/readers/reader-process.ts'
import { followSnapshot } from '../../../src/serve/readers/snapshot-follower.ts'
import { folderOfFile } from '../../of-file.ts'
import { until } from '../../until.ts'

const folder = await folderOfFile()

it('a snapshot that is published while a damaged one fails to open is opened next', async () => {
  const file = join(folder, 'snapshot')
  const publish = async (text: string) => {
    await writeFile(`${file}.next`, text)
    await rename(`${file}.next`, file)
  }
  const failures: (() => void)[] = []
  const start = async () => {
    const version = await readFile(file, 'utf8')
    if (version === 'damaged')
      await new Promise((_, reject) => failures.push(() => reject(new Error('it cannot be opened'))))
    return { state: { version }, ended: new Promise(() => {}), close: async () => {} } as unknown as ReaderProcess
  }
  await publish('first')
  const problems: unknown[] = []
  const followed = await followSnapshot({ file, start, onProblem: error => problems.push(error), lookEveryMs: 5 })
  await publish('damaged')
  await until(() => failures.length === 1)
  await publish('second')
  // Long enough for some looks at the new file.
  await sleep(100)
  expect(followed.state().version).toBe('first')
  failures[0]!()
  await until(() => followed.state().version === 'second')
  expect(problems.length).toBeGreaterThan(0)
  await followed.close()
})
