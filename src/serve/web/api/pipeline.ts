// The state of the pipeline, asked for again every 15 s while the page is visible.
import { useEffect } from 'preact/hooks'
import type { Pipeline } from '../state/needs.ts'
import { getJson } from './client.ts'
import { useAnswer } from './resource.ts'

const EVERY_MS = 15_000

export interface Health {
  asOf: string
  ageSeconds: number
  pipeline: Pipeline | null
  /** When the pipeline's state was read. */
  readAtMs: number
}

/** The last state: a newer one cannot be read while a process starts to hold the warehouse. */
let last: Health | null = null

async function readHealth(): Promise<Health> {
  const health = { ...(await getJson<Omit<Health, 'readAtMs'>>('v1/health')), readAtMs: Date.now() }
  if (health.pipeline || !last) last = health
  return { ...last, asOf: health.asOf, ageSeconds: health.ageSeconds }
}

export function useHealth() {
  const answer = useAnswer('health', readHealth)
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) answer.again()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }, [])
  // What is shown does not fade while it is renewed.
  return { ...answer, isLoading: answer.isLoading && answer.data === null }
}
