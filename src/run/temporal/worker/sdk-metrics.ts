// The SDK's metrics of several processes as one page, joined family by family, as Prometheus wants them.
import { SECOND } from '../../../core/time.ts'

/** Asks for a page at `host:port`; empty where nobody answers, as while a process is started again. */
export const fetchMetrics = async (address: string | null): Promise<string> => {
  if (address === null) return ''
  try {
    return await (await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(SECOND) })).text()
  } catch {
    return ''
  }
}

/** The name of the family that a line of the text format belongs to. */
const familyOf = (line: string): string =>
  /^# (?:HELP|TYPE) (\S+)/.exec(line)?.[1] ?? /^[^\s{]+/.exec(line)![0].replace(/_(bucket|sum|count)$/, '')

interface Family {
  /** Its HELP and TYPE. */
  head: Map<string, string>
  series: string[]
}

/** One page of several: every family once, with the series of all. The label `process` tells them apart. */
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
