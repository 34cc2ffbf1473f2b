/** Draws how it grows: a panel for each series, requests per second above, CPU a request below. */
import type { Point, Series } from './growth.ts'

const WIDTH = 860
const PANEL = { width: 190, height: 120, gap: 25, left: 50, top: 60 }
const ROW = 215

const measures: { title: string; color: string; of(point: Point): number; format(value: number): string }[] = [
  {
    title: 'requests per second, one core',
    color: '#2563eb',
    of: (point) => point.requestsPerSecond,
    format: (value) => `${Math.round(value / 1000)}k`,
  },
  {
    title: 'CPU a request, bare Bun.serve = 1',
    color: '#c2410c',
    of: (point) => point.ratio,
    format: (value) => value.toFixed(1),
  },
]

export function plot(growth: Series[]): string {
  const height = PANEL.top + ROW * measures.length
  const charts = measures.flatMap(({ title, color, of, format }, row) => {
    const top = PANEL.top + row * ROW
    const most = Math.max(...growth.flatMap(({ points }) => points.map(of)))
    const heading = `<text x="${PANEL.left}" y="${top - 28}" class="title">${title}</text>`
    return [
      heading,
      ...growth.map((series, column) => {
        const left = PANEL.left + column * (PANEL.width + PANEL.gap - 10)
        return chart(series, { left, top, color, of, format, most })
      }),
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="How the panel grows">
<style>
  text { font: 11px system-ui, sans-serif; fill: #374151 }
  .title { font-size: 13px; font-weight: 600 }
  .axis { stroke: #9ca3af }
</style>
<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>
${charts.join('\n')}
</svg>
`
}

type Frame = {
  left: number
  top: number
  color: string
  most: number
  of(point: Point): number
  format(value: number): string
}

/** The horizontal axis is logarithmic, the vertical one begins at zero. */
function chart({ unit, points }: Series, { left, top, color, most, of, format }: Frame): string {
  const width = PANEL.width - 45
  const bottom = top + PANEL.height
  const logs = points.map(({ x }) => Math.log10(x))
  const [least = 0, range = 1] = [logs[0], (logs.at(-1) ?? 1) - (logs[0] ?? 0)]
  const at = (point: Point) => ({
    x: left + ((Math.log10(point.x) - least) / range) * width,
    y: bottom - (of(point) / (most * 1.15)) * PANEL.height,
  })
  const places = points.map(at)
  const marks = points.map((point, i) => {
    const { x, y } = places[i] ?? { x: 0, y: 0 }
    const dot = `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3" fill="${color}"/>`
    const value = `<text x="${x.toFixed(1)}" y="${(y - 7).toFixed(1)}" text-anchor="middle">${format(of(point))}</text>`
    const tick = `<text x="${x.toFixed(1)}" y="${bottom + 14}" text-anchor="middle">${short(point.x)}</text>`
    return dot + value + tick
  })
  const line = places.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(' ')
  return `<line x1="${left}" y1="${bottom}" x2="${left + width}" y2="${bottom}" class="axis"/>
<polyline points="${line}" fill="none" stroke="${color}" stroke-width="2"/>
${marks.join('\n')}
<text x="${left + width / 2}" y="${bottom + 29}" text-anchor="middle">${unit}</text>`
}

function short(value: number): string {
  if (value >= 1_000_000) return `${value / 1_000_000}M`
  return value >= 1000 ? `${value / 1000}k` : `${value}`
}
