/** What commands print: text for people, one JSON document for scripts. */

export function print(line = ''): void {
  process.stdout.write(`${line}\n`)
}

export function printJson(value: unknown): void {
  print(JSON.stringify(value))
}

export function printError(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** A reader that has gone, as in `ncp serve | head -1`, is no reason to stop: there is only nobody to tell. */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
    })
  }
}
