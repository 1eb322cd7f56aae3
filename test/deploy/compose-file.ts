// Parses the compose file for the tests.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ROOT } from './dockerfile.ts'

export interface Service {
  image: string
  build?: string
  container_name?: string
  command?: string[]
  entrypoint?: string[]
  environment?: Record<string, string>
  secrets?: string[]
  configs?: { source: string; target: string }[]
  volumes?: string[]
  ports?: string[]
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test?: string[]; disable?: boolean }
  profiles?: string[]
  user?: string
  restart?: string
  stop_grace_period?: string
}

export interface ComposeFile {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  configs: Record<string, { file: string }>
  volumes: Record<string, null>
}

export const readCompose = (): ComposeFile =>
  parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as ComposeFile

/** Returns the services that run the image built from this repository. */
export const ownServices = ({ services }: ComposeFile): [name: string, service: Service][] =>
  Object.entries(services).filter(([, { build }]) => build !== undefined)
