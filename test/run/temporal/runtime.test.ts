// The metrics page that combines the metrics of the Temporal SDK with those of another process.
import { Runtime } from '@temporalio/worker'
import { expect, it } from 'vitest'
import { fetchMetrics, installRuntime, mergeMetrics } from '../../../src/run/temporal/worker/runtime.ts'
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
