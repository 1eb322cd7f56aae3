// Reads from the kernel how much memory a publication needs, in this process and in its children.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Returns a field of a process's status, bytes; 0 if there is none, as on systems other than Linux. */
export const statusOf = async (pid: string | number, field: string): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1_024
}

export async function childProcesses(of: string | number = 'self'): Promise<string[]> {
  const threads = await readdir(`/proc/${of}/task`)
  const lists = await Promise.all(
    threads.map(thread => readFile(`/proc/${of}/task/${thread}/children`, 'utf8').catch(() => '')),
  )
  return lists.flatMap(list => list.split(' ').filter(Boolean))
}

/** Peak resident sets, bytes. */
export interface Peaks {
  own: number
  /** Largest peak of the children that `work` started. */
  child: number
}

/** Measures the peak resident sets while `work` runs. */
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
