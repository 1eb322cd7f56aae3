import { expect, it } from 'vitest'
import { cli, scene } from './cli-process.ts'

it('a plan says what the reserve for new conversations goes by, once a period was told', async () => {
  const { env } = await scene({ conversations: 60 })
  const assumed = 'The vendor does not report the length of a billing period; 31 days are assumed.'
  expect((await cli(['plan'], { env })).stdout).not.toContain(assumed)
  expect((await cli(['sync', '--yes'], { env })).code).toBe(0)
  const { code, stdout } = await cli(['plan'], { env })
  expect(code).toBe(0)
  expect(stdout).toContain(assumed)
})
