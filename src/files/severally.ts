// Work on many files or objects, several at a time: a disk syncs several files together, and a server answers several requests.

const AT_ONCE = 4

/** Runs `work` for several items at a time. After a failure no other item is started. */
export async function severally<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]()
  let hasFailed = false
  const workOff = async () => {
    for (let next = left.next(); !next.done && !hasFailed; next = left.next())
      await work(next.value).catch(error => {
        hasFailed = true
        throw error
      })
  }
  const ended = await Promise.allSettled(Array.from({ length: AT_ONCE }, workOff))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw (failed as PromiseRejectedResult).reason
}
