// What a publication needs, from the kernel: memory of this process and of its children, and processor time.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** A field of a process's status, bytes; 0 where there is none, as off Linux. */
export const statusOf = async (pid: string | number, field: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1_024
}

async function childProcesses(): Promise<string[]> {
  const threads = await readdir('/proc/self/task')
  const lists = await Promise.all(
    threads.map(thread => readFile(`/proc/self/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap(list => list.split(' ').filter(Boolean))
}

/** Peak resident sets, bytes. */
export interface Peaks {
  own: number
  /** Of the children that were started meanwhile. */
  child: number
}

/** Peak resident sets while `work` runs. */
export async function withPeaks<T>(work: () => Promise<T>): Promise<{ result: T; peaks: Peaks }> {
  await writeFile('/proc/self/clear_refs', '5').catch(() => {})
  const before = new Set(await childProcesses())
  let isRunning = true
  let child = 0
  const watching = (async () => {
    while (isRunning) {
      for (const pid of await childProcesses())
        if (!before.has(pid)) child = Math.max(child, await statusOf(pid, 'VmHWM'))
      await sleep(50)
    }
  })()
  try {
    const result = await work()
    return { result, peaks: { own: await statusOf('self', 'VmHWM'), child } }
  } finally {
    isRunning = false
    await watching
  }
}

const ownSeconds = async (pid: string): Promise<number> => {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ')
  const ticks = fields.split(' ').slice(11, 15).map(Number)
  return ticks.reduce((sum, one) => sum + one, 0) / 100
}

/**
 * Processor time of this process and of its children, and of their children that have ended (PostgreSQL has a process for each connection), s.
 * Other load on the machine changes it less than the duration.
 */
export async function processorSeconds(): Promise<number> {
  const all = await Promise.all(['self', ...(await childProcesses())].map(ownSeconds))
  return all.reduce((sum, one) => sum + one, 0)
}
