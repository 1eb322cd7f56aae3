// Merges the SDK metrics of several processes into one page for Prometheus. A page may contain each metric family only once.
import { SECOND } from '../../../core/time.ts'

/** Fetches the page of metrics at `host:port`; empty if nothing answers, for example during a restart. */
export const fetchMetrics = async (address: string | null): Promise<string> => {
  if (address === null) return ''
  try {
    return await (await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(SECOND) })).text()
  } catch {
    return ''
  }
}

/** Name of the metric family that a line belongs to. */
const familyOf = (line: string): string =>
  /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1] ?? /^[^\s{]+/.exec(line)![0].replace(/_(bucket|sum|count)$/, '')

interface Family {
  /** HELP and TYPE lines. */
  head: Map<string, string>
  series: string[]
}

/** One page with every family once, and the series of all pages; the label `process` names the page that a series comes from. */
export function mergeMetrics(pages: Readonly<Record<string, string>>): string {
  const families = new Map<string, Family>()
  for (const [name, page] of Object.entries(pages)) {
    for (const line of page.split('\n')) {
      if (line.trim() === '' || /^#(?! (HELP|TYPE) )/.test(line)) continue
      const family = families.get(familyOf(line)) ?? { head: new Map<string, string>(), series: [] }
      families.set(familyOf(line), family)
      const head = /^# (HELP|TYPE)/.exec(line)
      if (head) family.head.set(head[1]!, family.head.get(head[1]!) ?? line)
      else family.series.push(labelled(line, name))
    }
  }
  return [...families.values()].flatMap(({ head, series }) => [...head.values(), ...series, '']).join('\n')
}

function labelled(line: string, name: string): string {
  const [, metric, labels, value] = /^([^\s{]+)(?:\{(.*)\})?(\s.*)$/.exec(line) ?? []
  if (metric === undefined) return line
  return `${metric}{${labels ? `${labels},` : ''}process="${name}"}${value}`
}
