// The compose profile `bi`: the settings of Grafana, Prometheus and PostgreSQL agree, and the pipeline dashboard
// queries metrics that processes serve.
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { temporaryFolder } from '../cli/cli-process.ts'
import { describeWithPromtool } from '../promtool.ts'
import { queryPanels, readDashboard } from '../publish/grafana-dashboards.ts'
import { readCompose } from './compose-file.ts'
import { ROOT } from './dockerfile.ts'

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

const { services, configs, secrets } = readCompose()
const roles = read('deploy/postgres/roles.sql')

interface DataSource {
  uid: string
  type: string
  url: string
  user?: string
  jsonData: { database?: string }
  secureJsonData?: { password: string }
}

const { datasources } = parse(read('deploy/grafana/provisioning/datasources.yml')) as { datasources: DataSource[] }

describe('the compose profile bi', () => {
  const inProfile = Object.entries(services).filter(([, { profiles }]) => profiles?.includes('bi'))

  it('has PostgreSQL, Prometheus and Grafana, on which nothing outside of it depends', () => {
    const names = inProfile.map(([name]) => name)
    expect(names).toEqual(['published', 'published-roles', 'prometheus', 'grafana'])
    for (const [name, { depends_on = {} }] of Object.entries(services))
      if (!names.includes(name)) expect(Object.keys(depends_on).filter(other => names.includes(other))).toEqual([])
  })

  it('mounts files of the repository', () => {
    for (const { file } of Object.values(configs))
      if (file !== './convohouse.yaml') expect(existsSync(join(ROOT, file)), file).toBe(true)
    const mounted = new Map(services.grafana!.configs!.map(({ source, target }) => [target, configs[source]!.file]))
    const { providers } = parse(read('deploy/grafana/provisioning/dashboards.yml'))
    for (const name of ['conversations', 'pipeline'])
      expect(mounted.get(`${providers[0].options.path}/${name}.json`)).toBe(`./deploy/grafana/dashboards/${name}.json`)
  })

  it('gives publisher and reader separate roles and passwords', () => {
    const passwords = ['published', 'publisher', 'reader', 'grafana', 'postgres'].map(
      name => secrets[`${name}-password`]!.file,
    )
    expect(new Set(passwords).size).toBe(5)
    expect(services.grafana!.secrets).toEqual(['grafana-password', 'reader-password'])
    // The warehouse worker sees the publisher's password in the mounted folder.
    expect(services.warehouse!.volumes).toContain('./secrets/targets:/run/targets:ro')
    expect(secrets['publisher-password']!.file).toBe('./secrets/targets/publisher-password')
    for (const role of ['publisher', 'reader']) expect(roles).toContain(`CREATE ROLE ${role} LOGIN`)
    expect(
      roles.match(/^GRANT.*reader|GRANT (?!USAGE ON SCHEMAS|SELECT ON TABLES|CONNECT ON DATABASE)[^;]* TO reader/gm),
    ).toBeNull()
  })

  it('connects Grafana to the services, as the reader', () => {
    const [postgres, prometheus] = datasources
    expect(postgres).toMatchObject({
      uid: 'convohouse',
      url: 'published:5432',
      user: 'reader',
      jsonData: { database: services.published!.environment!.POSTGRES_DB },
      secureJsonData: { password: '$__file{/run/secrets/reader-password}' },
    })
    expect(prometheus!.url).toBe('http://prometheus:9090')
    for (const [name, source] of [
      ['conversations', postgres!],
      ['pipeline', prometheus!],
    ] as const) {
      const { uid, templating, panels } = readDashboard(name)
      expect(uid).toBe(`convohouse-${name}`)
      const [variable] = templating.list.filter(({ type }) => type === 'datasource')
      expect(variable).toMatchObject({ query: source.type, current: { value: source.uid } })
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
      for (const { targets } of queryPanels(readDashboard(name)))
        for (const { datasource } of targets!)
          expect(datasource).toEqual({ type: source.type, uid: `\${${variable!.name}}` })
    }
  })

  it('scrapes every service that serves metrics', () => {
    const { scrape_configs } = parse(read('deploy/prometheus.yml'))
    const [{ names, port }] = scrape_configs[0].dns_sd_configs
    const serving = Object.entries(services).filter(([, { command }]) => command?.includes('--telemetry'))
    expect(serving.map(([name]) => name)).toEqual(names)
    for (const [, { command }] of serving) expect(command).toContain(`0.0.0.0:${port}`)
  })
})

const expressions = queryPanels(readDashboard('pipeline')).flatMap(({ targets }) => targets!.map(({ expr }) => expr!))

describe('the dashboard of the pipeline', () => {
  it('asks for metrics and labels that are documented, which a test compares with those that are served', () => {
    const documented = new Map(
      [...read('docs/telemetry.md').matchAll(/^\| `(convohouse_\w+)` \| \w+ \| ([^|]*)\|/gm)].map(
        ([, metric, labels]) => [metric!, [...labels!.matchAll(/`(\w+)`/g)].map(([, label]) => label!)],
      ),
    )
    expect(expressions.length).toBeGreaterThan(20)
    for (const expr of expressions) {
      const [metric] = /convohouse_\w+/.exec(expr)!
      expect([...documented.keys()]).toContain(metric)
      const used = [...expr.matchAll(/\bby \(([^)]*)\)/g), ...expr.matchAll(/[{,](\w+)=~/g)].flatMap(([, names]) =>
        names!.split(', '),
      )
      expect(documented.get(metric)).toEqual(expect.arrayContaining(used))
    }
  })
})

await describeWithPromtool('Prometheus', promtool => {
  it('understands the queries of the dashboard', async () => {
    const plain = expressions.map(expr => expr.replaceAll('$__rate_interval', '5m').replace(/\$\w+/g, '.*'))
    const rules = plain.map((expr, at) => ({ record: `panel_${at}`, expr }))
    const file = join(await temporaryFolder(), 'rules.yml')
    await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }))
    const { output } = await promtool.check(['check', 'rules', file])
    expect(output).toContain(`SUCCESS: ${plain.length} rules found`)
  })

  it('understands its configuration', async () => {
    const folder = await temporaryFolder()
    const config = read('deploy/prometheus.yml').replace('/etc/prometheus/alerts.yml', join(ROOT, 'deploy/alerts.yml'))
    await writeFile(join(folder, 'prometheus.yml'), config)
    const { output } = await promtool.check(['check', 'config', join(folder, 'prometheus.yml')])
    expect(output).toContain('is valid prometheus config file syntax')
  })
})
