import { type AddressInfo, createServer } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { installRuntime, installRuntimeAnywhere } from '../../../src/run/temporal/runtime.ts'

/** Listens at that port, or at any, until the test is over. */
async function taken(port = 0): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  onTestFinished(() => new Promise(resolve => server.close(() => resolve())))
  return (server.address() as AddressInfo).port
}

it('metrics that cannot be served where they were asked for are told; elsewhere they are', async () => {
  const port = await taken()
  const there = { metrics: `127.0.0.1:${port}`, log: () => {} }
  expect(() => installRuntime(there)).toThrow(`Metrics cannot be served at 127.0.0.1:${port}`)
  const at = await installRuntimeAnywhere({ log: () => {} })
  expect(at).not.toBe(there.metrics)
  expect((await fetch(`http://${at}/metrics`)).status).toBe(200)
})
