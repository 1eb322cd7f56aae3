// The metrics that convohouse declares itself. Users add theirs (`own-metrics.ts`).
import type { Metric } from './declaration.ts'
import { AUTOMATION } from './declared/automation.ts'
import { BACKLOG } from './declared/backlog.ts'
import { LEADS } from './declared/leads.ts'
import { PEOPLE } from './declared/people.ts'
import { SATISFACTION } from './declared/satisfaction.ts'
import { SERVICE } from './declared/service.ts'
import { SPENDING } from './declared/spend.ts'
import { TOPICS } from './declared/topics.ts'
import { VOLUME } from './declared/volume.ts'

const BY_SUBJECT = [VOLUME, AUTOMATION, SERVICE, SATISFACTION, SPENDING, LEADS, BACKLOG, TOPICS, PEOPLE]

export const METRICS: readonly Metric[] = BY_SUBJECT.flat()
