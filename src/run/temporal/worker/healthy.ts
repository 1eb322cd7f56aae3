// Whether a worker takes tasks, as a health check asks it: `node healthy.js HOST:PORT` looks at the metrics that it serves there, and exits
// with 0 where it polls for tasks. A process that is frozen or has not begun does not.
const PATIENCE_MS = 5_000

/** Polls that are open: of a worker that cannot reach its server they still are, since another one would fare no better. */
const POLLS = /^temporal_num_pollers\{[^}]*\} [1-9]/m

async function isHealthy(address: string): Promise<boolean> {
  const answer = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  return POLLS.test(await answer.text())
}

const [address = '127.0.0.1:9464'] = process.argv.slice(2)
const healthy = await isHealthy(address).catch(() => false)
if (!healthy) process.stderr.write(`No worker takes tasks, as far as http://${address}/metrics tells.\n`)
process.exitCode = healthy ? 0 : 1
