import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/bi/*.bi.ts'],
    globalSetup: 'test/bi/install.ts',
    // Names each test, and why one was skipped.
    reporters: 'verbose',
    testTimeout: 300_000,
    hookTimeout: 600_000,
  },
})
