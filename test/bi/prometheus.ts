// A Prometheus server, which tests start.
import { downloadPrometheus } from '../promtool.ts'
import type { Tool } from './installed.ts'

/** Debian's version: apt has no other one. */
export const PROMETHEUS: Tool = {
  folder: 'bi-prometheus',
  about: "Prometheus (Debian's package, by apt-get)",
  install: async folder => void (await downloadPrometheus(folder)),
}
