/** Roles of a transcript's messages in lower case, by who sent them. `nobody`: no participant wrote the text. */
export const ROLES = {
  contact: ['user', 'customer', 'contact', 'visitor', 'client', 'lead', 'caller'],
  agent: ['assistant', 'ai', 'bot', 'agent', 'model'],
  person: [
    ...['human', 'human_agent', 'human-agent', 'humanagent', 'live_agent', 'live-agent'],
    ...['operator', 'support', 'admin', 'staff', 'person'],
  ],
  nobody: ['system', 'developer', 'tool', 'function'],
}
