/** Files that the compiler puts into the binary: SQL and units as text, everything else as a path to read from. */
declare module '*.sql' {
  const text: string
  export default text
}
declare module '*.service' {
  const text: string
  export default text
}
declare module '*.mount' {
  const text: string
  export default text
}
declare module '*.sysusers' {
  const text: string
  export default text
}
declare module '*.css' {
  const path: string
  export default path
}
declare module '*.png' {
  const path: string
  export default path
}
declare module '*/swagger-ui-bundle.js' {
  const path: string
  export default path
}
declare module '@zxcvbn-ts/language-common/src/passwords.json' {
  const path: string
  export default path
}
declare module '*/page/dist/files.js' {
  /** The paths of a file and of its compressed forms. */
  type Built = { contentType: string; plain: string; br: string; gzip: string }
  /** By name. */
  export const files: Readonly<Record<string, Built>>
  /** The scripts that the page loads before it shows anything. */
  export const firstLoad: readonly string[]
  /** The document, in which `{root}` stands for the way to the root. */
  export const html: string
  /** Where it is served. */
  export const paths: readonly string[]
}
