/** Blocks of nginx's configuration. */

/** @param head such as `location /` */
export const block = (head: string, lines: readonly (string | readonly string[])[]): string[] => [
  `${head} {`,
  ...lines.flat().map((line) => (line === '' ? '' : `  ${line}`)),
  '}',
]
