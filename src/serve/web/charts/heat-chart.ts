// A week as a heat map: weekdays by local hours.
import { hourText, weekdayText } from '../format/dates.ts'
import { cssColour } from '../state/colours.ts'
import type { DrawnSeries } from './columns.ts'
import { bareAxis, base, type Option } from './drawing.ts'

export const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7]
/** From the first hour of a working day; those of the night come last. */
export const HOURS = Array.from({ length: 24 }, (_, at) => (at + 6) % 24)

/** Returns the place of a cell in the answer, whose keys are `1 00` to `7 23`. */
export const placeInWeek = (weekday: number, hour: number): number => (weekday - 1) * 24 + hour

export function heatOption({ cells }: DrawnSeries, width: number): Option {
  const data = WEEKDAYS.flatMap(day =>
    HOURS.map((hour, at) => [at, day - 1, cells[placeInWeek(day, hour)]?.value ?? null]),
  )
  const most = Math.max(1, ...data.map(([, , value]) => value ?? 0))
  return {
    ...base(),
    grid: { left: 8, right: 12, top: 8, bottom: 4, outerBoundsMode: 'same', outerBoundsContain: 'axisLabel' },
    xAxis: {
      ...bareAxis(),
      data: HOURS.map(hour => hourText(String(hour))),
      axisLabel: {
        color: cssColour('muted'),
        interval: width < 480 ? 5 : 2,
        formatter: (text: string) => text.slice(0, 2),
      },
    },
    yAxis: {
      ...bareAxis(),
      inverse: true,
      data: WEEKDAYS.map(weekdayText),
      axisLabel: { color: cssColour('muted') },
    },
    visualMap: {
      show: false,
      min: 0,
      max: most,
      inRange: { color: [cssColour('heat-0'), cssColour('heat-1'), cssColour('heat-2')] },
    },
    series: [
      {
        id: 'heat',
        type: 'heatmap',
        data,
        // In parts, a picture would have only the first ones.
        progressive: 0,
        itemStyle: { borderColor: cssColour('surface'), borderWidth: 2, borderRadius: 4 },
        emphasis: { itemStyle: { borderColor: cssColour('text'), borderWidth: 2 } },
      },
    ],
  }
}
