// A drawing with a pointer: hover, arrow keys and touch show a column as a small table; Enter or a click opens what is behind it.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isDark } from '../state/colours.ts'
import { type Drawing, type Option, openDrawing } from './drawing.ts'

export interface Pointed {
  /** Position of the column, and of the row in a heat map. */
  column: number
  row: number
}

interface ChartProps {
  /** Name for screen readers: the title, and what the drawing says. */
  label: string
  /** Number of columns, and of rows in a heat map (else 1). */
  columns: number
  rows?: number
  height: number
  option: (width: number) => Option
  tip: (at: Pointed) => ComponentChildren
  onOpen?: ((at: Pointed) => void) | undefined
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
}

/** In pixels. While a page is captured as a picture it has no width for a moment, at which nothing is to be drawn. */
const NARROWEST = 64

const within = (value: number, most: number): number => Math.max(0, Math.min(most - 1, value))

export function Chart({ label, columns, rows = 1, height, option, tip, onOpen }: ChartProps) {
  const ground = useRef<HTMLDivElement>(null)
  const drawing = useRef<Drawing>(null)
  const [width, setWidth] = useState(0)
  const [at, setAt] = useState<Pointed | null>(null)
  const dark = isDark.value

  useEffect(() => {
    const element = ground.current!
    const opened = openDrawing(element)
    drawing.current = opened
    const observer = new ResizeObserver(() => {
      if (element.clientWidth < NARROWEST) return
      opened.resize()
      setWidth(element.clientWidth)
    })
    observer.observe(element)
    return () => {
      observer.disconnect()
      opened.dispose()
    }
  }, [])

  useEffect(() => {
    if (width > 0) drawing.current!.setOption(option(width), { notMerge: true })
  }, [option, width, dark, height])

  const place = (x: number, y: number): Pointed | null => {
    const chart = drawing.current
    if (!chart?.containPixel({ gridIndex: 0 }, [x, y])) return null
    const [column, row] = chart.convertFromPixel({ gridIndex: 0 }, [x, y]) as [number, number]
    return { column: within(column, columns), row: rows > 1 ? within(row, rows) : 0 }
  }
  const follow = (event: PointerEvent) => setAt(place(event.offsetX, event.offsetY))
  const onKeyDown = (event: KeyboardEvent) => {
    const step = KEYS[event.key]
    if (step && (rows > 1 || step[1] === 0)) {
      event.preventDefault()
      const from = at ?? { column: step[0] < 0 ? columns : -1, row: 0 }
      setAt({ column: within(from.column + step[0], columns), row: within(from.row + step[1], rows) })
    }
    if (event.key === 'Escape') setAt(null)
    if ((event.key === 'Enter' || event.key === ' ') && at) {
      event.preventDefault()
      onOpen?.(at)
    }
  }
  const pixel =
    at && (drawing.current?.convertToPixel({ gridIndex: 0 }, [at.column, at.row]) as [number, number] | undefined)
  return (
    <div class="chart" role="group" aria-label={label} tabIndex={0} onKeyDown={onKeyDown} onBlur={() => setAt(null)}>
      <div
        ref={ground}
        class="chart-ground"
        style={{ height: `${height}px`, ...(onOpen && { cursor: 'pointer' }) }}
        aria-hidden="true"
        onPointerMove={follow}
        onPointerDown={follow}
        onPointerLeave={() => setAt(null)}
        onClick={event => {
          const found = place(event.offsetX, event.offsetY)
          if (found) onOpen?.(found)
        }}
      />
      {at && pixel && (
        <Tip x={pixel[0]} width={width}>
          {tip(at)}
        </Tip>
      )}
    </div>
  )
}

/** Stands beside the column, on the side with more room. */
function Tip({ x, width, children }: { x: number; width: number; children: ComponentChildren }) {
  const style = x > width / 2 ? { right: `${width - x + 12}px` } : { left: `${x + 12}px` }
  return (
    <div class="tip floating" style={style} aria-live="polite">
      {children}
    </div>
  )
}
