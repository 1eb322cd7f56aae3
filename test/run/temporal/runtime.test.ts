// The metrics page that combines the metrics of the Temporal SDK with those of another process.
import { Runtime } from '@temporalio/worker'
import { expect, it } from 'vitest'
import { errorLines } from '../../../src/cli/terminal/error-text.ts'
import { fetchMetrics, installRuntime, lineOf, mergeMetrics } from '../../../src/run/temporal/worker/runtime.ts'
import { until } from '../../until.ts'

it("the SDK's own metrics can be read beside ours, and those of another process beside them", async () => {
  const address = await installRuntime({ log: () => {} })
  Runtime.instance().metricMeter.createCounter('test_counter').add(2)
  const text = await until(async () => {
    const page = await fetchMetrics(address)
    return page.includes('test_counter') && page
  })
  const other = '# TYPE test_counter counter\ntest_counter{a="b"} 5\n'
  const page = mergeMetrics({ export: text, warehouse: other })
  expect(page).toMatch(/test_counter\{([^}]*,)?process="export"\} 2$/m)
  expect(page).toContain('test_counter{a="b",process="warehouse"} 5')
  expect(page.match(/# TYPE test_counter/g)).toHaveLength(1)
})

it("texts of the SDK's libraries are put into words, and those that are no fault are left out", () => {
  const entry = (message: string, error?: string) =>
    lineOf({ level: 'WARN', message, meta: { ...(error && { error: new Error(error) }) } })
  const transport = 'tonic::transport::Error(Transport, hyper::Error(Connect, ConnectError("tcp connect error")))'
  expect(entry('gRPC call poll_workflow_task_queue retried 6 times', transport)).toBe(
    "warn: Temporal's server is asked again: the connection failed",
  )
  expect(entry('gRPC call retried', 'Connection refused (os error 111)')).toContain('nothing listens there')
  for (const what of ['Query not found when attempting to respond to it', 'Task not found when completing'])
    expect(entry(what)).toBeNull()
  expect(entry('Workflow task took long')).toBe('warn: Workflow task took long')
  const failed = Object.assign(new Error(transport), { name: 'ServiceError' })
  expect(errorLines(failed)[0]).toBe(
    "error TEMPORAL_UNREACHABLE: Temporal's server did not answer, or refused the call.",
  )
})
