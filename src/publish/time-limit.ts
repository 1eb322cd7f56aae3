// The signal that ends a publication: when its caller stops it, and when it takes too long.
import { ConvohouseError } from '../core/errors.ts'
import { formatDuration, MINUTE } from '../core/time.ts'

/** A longer read transaction would hold up checkpoints of the warehouse for too long; a longer application has most likely stalled. */
const LONGEST_MS = 10 * MINUTE

const tooLong = (target: string, longestMs: number): ConvohouseError =>
  new ConvohouseError('PUBLICATION_FAILED', {
    what: `The publication to ${target} was aborted after ${formatDuration(longestMs)}.`,
    hint: 'It is tried again. Give it more memory (`publish.memoryLimit`) or threads if it always takes that long.',
  })

/** A signal that aborts after the longest time, or with the caller's. */
export function limitTime(
  target: string,
  { signal, longestMs = LONGEST_MS }: { signal?: AbortSignal; longestMs?: number },
): { signal: AbortSignal; release(): void } {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(tooLong(target, longestMs)), longestMs)
  const stop = () =>
    limit.abort(new ConvohouseError('INTERRUPTED', { what: `The publication to ${target} was stopped.` }))
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  return {
    signal: limit.signal,
    release() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    },
  }
}
