import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementTexts } from '../../src/warehouse/load/coerce-page.ts'

describe('the elements of a page', () => {
  it('are those that JSON.parse finds, each as written', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue()),
        fc.jsonValue(),
        fc.constantFrom(undefined, 2, '\r\n'),
        (data, other, space) => {
          const body = JSON.stringify({ success: true, 'da"ta': other, data, paging: { data: [1] } }, null, space)
          const texts = elementTexts(body, ['data'])
          expect(texts.map(text => JSON.parse(text))).toEqual((JSON.parse(body) as { data: unknown[] }).data)
          for (const text of texts) expect(body).toContain(text)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('are those of several arrays in order, and none of a value that is not an array', () => {
    const body = '{"starredAgents":[ {"ID":"b"} ],"agents":[{"ID":"a"},1.50,"]"],"data":"[1]","page":2}'
    expect(elementTexts(body, ['agents', 'starredAgents'])).toEqual(['{"ID":"a"}', '1.50', '"]"', '{"ID":"b"}'])
    expect(elementTexts(body, ['data', 'page', 'nobody'])).toEqual([])
  })

  it('are the object itself if there is one instead of an array', () => {
    expect(elementTexts('{"data": {"x":[1]} ,"n":1}', ['data'])).toEqual(['{"x":[1]}'])
  })

  it('are those of the last of two arrays under one key', () => {
    expect(elementTexts(String.raw`{"data":[1],"d\u0061ta":[2,3]}`, ['data'])).toEqual(['2', '3'])
  })

  it('are found however deep one of them is', () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    expect(elementTexts(`{"data":[1,${deep},2]}`, ['data'])).toEqual(['1', deep, '2'])
  })

  it.each(['', '[1]', '{"data":[1', '{"data":[1 2]}', '{"data":["canary'])(
    'are refused for %j without quoting it',
    body => {
      expect(() => elementTexts(body, ['data'])).toThrow(/^(?!.*canary)/)
    },
  )
})
