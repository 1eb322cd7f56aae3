// Health check of a worker: `node healthy.js HOST:PORT` reads the worker's metrics and exits with 0 if it polls for
// tasks. A worker that is frozen or still starting does not.
const PATIENCE_MS = 5_000

/** Matches the count of open polls. A worker whose server is unreachable counts as healthy, since a restart would not help. */
const POLLS = /^temporal_num_pollers\{[^}]*\} [1-9]/m

async function isHealthy(address: string): Promise<boolean> {
  const answer = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  return POLLS.test(await answer.text())
}

const [address = '127.0.0.1:9464'] = process.argv.slice(2)
const healthy = await isHealthy(address).catch(() => false)
if (!healthy) process.stderr.write(`No worker polls for tasks, according to http://${address}/metrics.\n`)
process.exitCode = healthy ? 0 : 1
