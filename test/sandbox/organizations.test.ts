import { describe, expect, it } from 'vitest'
import {
  type OrganizationChange,
  organizationChanges,
  organizationName,
} from '../../src/sandbox/world/organizations.ts'
import { DAY, START_MS } from './caller.ts'

const changes = organizationChanges(4, START_MS, START_MS + 120 * DAY).toSorted((a, b) => a.ms - b.ms)

describe('the organizations of a workspace', () => {
  it('are created, changed and mostly deleted, and their clients exist only as long', () => {
    const seen = new Set(changes.map(({ change, client }) => `${client ? 'client' : 'organization'} ${change}`))
    expect(seen.size).toBe(6)
    for (const { ms, organization, client } of changes) {
      expect(ms).toBeGreaterThanOrEqual(organization.createdMs)
      expect(ms).toBeLessThanOrEqual(organization.deletedMs ?? Number.POSITIVE_INFINITY)
      if (client) expect(client.createdMs).toBeGreaterThan(organization.createdMs)
    }
  })

  it('have their new name from their change on', () => {
    const updated = changes.filter(({ change, client }) => change === 'updated' && client === undefined)
    for (const { ms, organization } of updated) {
      expect([organizationName(organization, ms - 1), organizationName(organization, ms)]).toEqual([
        organization.name,
        organization.newName,
      ])
    }
  })

  it('have the same changes however the time range is divided', () => {
    const key = ({ ms, change, organization, client }: OrganizationChange) =>
      `${ms} ${change} ${organization.id} ${client?.id}`
    const days = [...Array(120).keys()].map(day => START_MS + day * DAY)
    const daily = days.flatMap(ms => organizationChanges(4, ms, ms + DAY))
    expect(daily.map(key).toSorted()).toEqual(changes.map(key).toSorted())
  })
})
