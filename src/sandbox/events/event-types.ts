// The types of events that the sandbox sends: all that are declared (section 6.3), of agents as their platform has it (section 6.2).
import { EVENT_TYPES, type EventName } from '../../catalog/events.ts'

/** What an event of a type draws goes by its place here. */
export const EVENT_NAMES: readonly EventName[] = EVENT_TYPES.map(({ name }) => name)

/** Which types `vf` agents send is not documented, beyond two that they do not; chats are not assigned and faults not reported there. */
const NOT_OF_VF: ReadonlySet<EventName> = new Set(['lead_captured', 'form_submitted', 'chat_delegated', 'bug_reported'])

/** Whether agents of that platform send events of the type. */
export const isSentBy = (platform: unknown, name: EventName): boolean => platform !== 'vf' || !NOT_OF_VF.has(name)
