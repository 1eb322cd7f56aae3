import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { include: ['test/bi/*.bi.ts'], testTimeout: 300_000, hookTimeout: 600_000 } })
