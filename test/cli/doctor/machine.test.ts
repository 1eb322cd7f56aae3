import { describe, expect, it } from 'vitest'
import { fileSystemFinding, fileSystemOf, spaceFinding } from '../../../src/cli/doctor/disk.ts'
import { isAtLeast, memoryFinding, memoryOf, nodeFinding } from '../../../src/cli/doctor/machine.ts'
import { sizeOf } from '../../../src/core/words.ts'

const GB = 1_000_000_000

describe('a Node version', () => {
  it.each([
    ['20.19.0', '20.19', true],
    ['20.19.4', '20.19', true],
    ['20.18.9', '20.19', false],
    ['18.20.0', '20.19', false],
    ['22.0.0', '20.19', true],
    ['20.20.0', '20.19.1', true],
    ['20.19.0', '20.19.1', false],
  ])('%s is %s or later: %s', (version, oldest, expected) => expect(isAtLeast(version, oldest)).toBe(expected))

  it('that is too old is a failure, with the exit code of wrong input', () => {
    const found = nodeFinding('18.20.4', { version: '1.2.3', oldestNode: '20.19' })
    expect(found).toMatchObject({ state: 'fail', code: 'NODE_TOO_OLD', exitCode: 2 })
    expect(found.found).toBe('This is Node 18.20.4; convohouse 1.2.3 needs 20.19 or later.')
  })
})

describe('a memory limit', () => {
  const both = (limit: string) => ({ memoryLimit: limit, replayMemoryLimit: limit })

  it.each([
    ['1GB', GB],
    ['1.5 GB', 1.5 * GB],
    ['512MiB', 512 * 2 ** 20],
    ['800 kb', 800_000],
    ['2TiB', 2 * 2 ** 40],
  ])('of %s is %d bytes', (text, size) => expect(sizeOf(text)).toBe(size))

  it('fits the machine', () => {
    expect(memoryFinding(both('1GB'), { machineBytes: 8 * GB, containerBytes: null }).state).toBe('ok')
  })

  it('that exceeds the memory of a container causes a warning, which suggests one that fits', () => {
    const found = memoryFinding(both('1GB'), { machineBytes: 64 * GB, containerBytes: GB })
    expect(found.state).toBe('warn')
    expect(found.found).toBe('DuckDB may use 1GB; this container is limited to 1.0 GB')
    expect(found.hint).toContain('`memoryLimit: 400MB`')
  })

  it('that only a replay exceeds causes a warning with the name of that setting', () => {
    const limits = { memoryLimit: '448MB', replayMemoryLimit: '1GB' }
    const found = memoryFinding(limits, { machineBytes: GB, containerBytes: null })
    expect(found).toMatchObject({ state: 'warn', found: 'A replay may use 1GB; the machine has 1.0 GB' })
    expect(found.hint).toContain('`replayMemoryLimit: 400MB`')
  })

  it('is compared with the actual memory of this machine', () => {
    const { machineBytes, containerBytes } = memoryOf()
    expect(machineBytes).toBeGreaterThan(100_000_000)
    expect(containerBytes ?? machineBytes).toBeLessThanOrEqual(machineBytes)
    expect(memoryFinding(both('1000TB'), memoryOf()).state).toBe('warn')
  })
})

describe('space', () => {
  const space = (freeBytes: number, warehouseBytes: number) =>
    spaceFinding({ freeBytes, warehouseBytes, landingBytes: 0 })

  it('that suffices is ok', () => expect(space(10 * GB, 2 * GB).state).toBe('ok'))
  it('must suffice for a second warehouse, which a replay builds', () => {
    expect(space(2 * GB, 3 * GB)).toMatchObject({ state: 'warn' })
    expect(space(2 * GB, 3 * GB).hint).toContain('replay')
  })
  it('that is running out causes a warning', () => expect(space(GB / 2, 0).state).toBe('warn'))
  it('that has run out is a failure', () => {
    expect(space(1_000_000, 0)).toMatchObject({ state: 'fail', code: 'HOME_UNUSABLE', exitCode: 6 })
  })
})

describe('a file system', () => {
  it.each([
    [0xef53, 'ext4', 'ok'],
    [0x6969, 'NFS', 'warn'],
    // Some systems report the number as signed.
    [0xff534d42 | 0, 'CIFS', 'warn'],
    [0x01021994, 'tmpfs', 'warn'],
  ])('of number %d is %s: %s', (type, name, state) => {
    expect(fileSystemOf(type, 'linux')?.name).toBe(name)
    expect(fileSystemFinding(fileSystemOf(type, 'linux')).state).toBe(state)
  })

  it('of another system, or of an unknown number, is not guessed', () => {
    expect(fileSystemOf(0x6969, 'darwin')).toBeNull()
    expect(fileSystemOf(4_711, 'linux')).toBeNull()
    expect(fileSystemFinding(null).state).toBe('ok')
  })
})
