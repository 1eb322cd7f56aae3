import { Runtime } from '@temporalio/worker'
import { expect, it } from 'vitest'
import { installRuntimeWithMetrics } from '../../../src/run/temporal/runtime.ts'

it("the SDK's own metrics can be read beside ours", async () => {
  const read = await installRuntimeWithMetrics({ log: () => {} })
  Runtime.instance().metricMeter.createCounter('test_counter').add(2)
  let text = ''
  while (!text.includes('test_counter')) text = await read()
  expect(text).toMatch(/test_counter(\{[^}]*\})? 2$/m)
})
