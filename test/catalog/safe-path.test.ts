import { describe, expect, it } from 'vitest'
import { conversation } from '../../src/catalog/conversation/conversation.ts'
import { safePath } from '../../src/catalog/inspection/unknown-fields.ts'

const pathOf = (...keys: string[]): string => safePath(conversation.fields, keys)

describe('a safe path', () => {
  it.each([
    [['csat', 'ease10'], 'csat.ease10'],
    [['tags', '[]'], 'tags[]'],
    [['crmActivities', '[]', 'notesHistory', '[]', 'text'], 'crmActivities[].notesHistory[].text'],
  ])('contains declared keys unchanged: %j', (keys, path) => {
    expect(pathOf(...keys)).toBe(path)
  })

  it.each([
    [['title'], 'title'],
    [['csat', 'mood', 'ada@mail.example'], 'csat.mood'],
    [['constructor'], 'constructor'],
  ])('ends with the first undeclared key if that looks like a field: %j', (keys, path) => {
    expect(pathOf(...keys)).toBe(path)
  })

  it.each([
    [['ada@mail.example'], '*'],
    [['csat', 'Ada Lovelace'], 'csat.*'],
    [['crmActivities', '[]', '+49 151'], 'crmActivities[].*'],
    [['tel4915112345678'], '*'],
    [['Jürgen'], '*'],
    [[''], '*'],
    [['k'.repeat(65)], '*'],
    [['capturedVariables', 'plan'], 'capturedVariables.*'],
    [['sessions', '[]', 'ada@mail.example'], 'sessions[]'],
    [['crmActivities', 'ada@mail.example'], 'crmActivities.*'],
  ])('contains a placeholder for a key that may be data: %j', (keys, path) => {
    expect(pathOf(...keys)).toBe(path)
  })
})
