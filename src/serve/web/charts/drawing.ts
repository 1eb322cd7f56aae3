// ECharts with the parts that the dashboard uses, and what all charts have in common.
import { BarChart, HeatmapChart, LineChart } from 'echarts/charts'
import { GridComponent, MarkAreaComponent, MarkLineComponent, VisualMapComponent } from 'echarts/components'
import { type ECharts, type EChartsCoreOption, init, use } from 'echarts/core'
import { LabelLayout } from 'echarts/features'
import { CanvasRenderer } from 'echarts/renderers'
import { cssColour, isDark } from '../state/colours.ts'

use([
  BarChart,
  CanvasRenderer,
  GridComponent,
  HeatmapChart,
  LabelLayout,
  LineChart,
  MarkAreaComponent,
  MarkLineComponent,
  VisualMapComponent,
])

export type Option = EChartsCoreOption
export type Drawing = ECharts

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif'

export const openDrawing = (element: HTMLElement): Drawing => init(element, null, { renderer: 'canvas' })

/** Returns what every chart's option has. */
export const base = (): Option => ({
  animation: false,
  textStyle: { fontFamily: FONT, fontSize: 12, color: cssColour('muted') },
})

/** An axis of names without a line. */
export const bareAxis = () => ({ type: 'category', axisLine: { show: false }, axisTick: { show: false } })
export const axisLine = () => ({ lineStyle: { color: cssColour('line-strong') } })
export const splitLine = () => ({ lineStyle: { color: cssColour('line') } })

/** Returns a pattern of diagonal lines on a ground. */
export function hatch(colour: string, ground: string) {
  const image = document.createElement('canvas')
  const scale = 2
  const side = 6 * scale
  image.width = side
  image.height = side
  const context = image.getContext('2d')!
  context.fillStyle = ground
  context.fillRect(0, 0, side, side)
  context.strokeStyle = colour
  context.lineWidth = 1.4 * scale
  context.beginPath()
  for (const offset of [-side, 0, side]) {
    context.moveTo(offset, side)
    context.lineTo(offset + side, 0)
  }
  context.stroke()
  return { image, repeat: 'repeat' as const, scaleX: 1 / scale, scaleY: 1 / scale }
}

/** The ground of a period without coverage. */
export const uncoveredGround = () => hatch(cssColour('hatch'), isDark.value ? '#00000000' : '#ffffff00')
