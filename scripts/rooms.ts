/** Prints the picture of imports: each room of `src` from the ground up, its size, and the rooms it imports from. */
import { circlesAmong, filesIn, importsIn, roomOf, rooms, runsUp, sourceOf } from './imports.ts'

const files = filesIn('src')
const linesOf = (file: string) => sourceOf(file).trimEnd().split('\n').length
const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

const imports = importsIn('src')
const arrows = Map.groupBy(
  imports.filter(({ from, to }) => roomOf(from) !== roomOf(to)),
  ({ from, to }) => `${roomOf(from)} ${roomOf(to)}`,
)
const edges = [...arrows.values()].flatMap(([first]) =>
  first ? [{ from: roomOf(first.from), to: roomOf(first.to) }] : [],
)
const circles = circlesAmong(edges)
const upward = imports.filter(runsUp)

const inOneCircle = (a: string, b: string) => circles.some((circle) => circle.includes(a) && circle.includes(b))

function arrow(from: string, to: string): string {
  const through = arrows.get(`${from} ${to}`) ?? []
  const marks = [
    inOneCircle(from, to) ? 'o' : '',
    through.some(runsUp) ? '^' : '',
    through.every(({ typeOnly }) => typeOnly) ? '~' : '',
  ]
  return marks.join('') + to
}

const rows = [...Map.groupBy(files, roomOf)]
  .sort(([a], [b]) => rooms.indexOf(a) - rooms.indexOf(b))
  .map(([room, own]) => ({
    room,
    lines: sum(own.map(linesOf)),
    files: own.length,
    from: edges.filter(({ from }) => from === room).map(({ to }) => arrow(room, to)),
  }))

const width = Math.max(...rows.map(({ room }) => room.length))
const print = (line: string) => process.stdout.write(`${line}\n`)
print(`${'room'.padEnd(width)}  lines  files  imports from`)
for (const { room, lines, files, from } of rows) {
  print(`${room.padEnd(width)}  ${String(lines).padStart(5)}  ${String(files).padStart(5)}  ${from.sort().join(' ')}`)
}
const lengths = files.map(linesOf)
print('')
print('o in a circle   ^ against the order   ~ types alone')
print(
  `${rows.length} rooms, ${edges.length} arrows between them; ${files.length} files, ${sum(lengths)} lines, ${median(lengths)} in the median file`,
)
print(`rooms in a circle: ${circles.map((circle) => circle.join(', ')).join('; ') || 'none'}`)
print(
  `files in a circle: ${
    circlesAmong(imports)
      .map((circle) => circle.join(', '))
      .join('; ') || 'none'
  }`,
)
print(`imports against the order: ${upward.map(({ from, to }) => `${from} -> ${to}`).join(', ') || 'none'}`)
