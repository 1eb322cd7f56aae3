// libuv's thread pool, which one process shares for files, DNS, zlib and every call of DuckDB. A query occupies a thread for as long as it
// runs, so their number is bounded: with four slow queries in a pool of four nothing else went on, not even fsync.

/** libuv's own size, and its upper bound. */
const DEFAULT_THREADS = 4
const MOST_THREADS = 1_024

/** More would only share the processors, and DuckDB's one memory limit. */
const MOST_QUERIES = 4

/** Queries that may run at once: a quarter of the pool, at most four. `poolSize` is UV_THREADPOOL_SIZE, as libuv reads it at the pool's start. */
export function queriesAtOnce(poolSize: string | undefined): number {
  const asked = poolSize === undefined ? DEFAULT_THREADS : Number.parseInt(poolSize, 10) || 1
  const threads = Math.min(MOST_THREADS, Math.max(1, asked))
  return Math.max(1, Math.min(MOST_QUERIES, Math.floor(threads / 4)))
}
