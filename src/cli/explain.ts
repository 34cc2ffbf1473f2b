/** Explains system errors in a sentence that says what to do. */

/** As Node and Bun write them: `ENOENT: no such file or directory, copyfile 'a' -> 'b'`. */
const SYSTEM_ERROR = /^(E[A-Z0-9]+): [^,]+, (\w+)(?: '([^']*)')?/

const SENTENCES: Record<string, (path: string, call: string) => string> = {
  EACCES: (path) => `${path}: permission denied; run this as the owner of the file, or as root`,
  EPERM: (path) => `${path}: operation not permitted; run this as the owner of the file, or as root`,
  ENOENT: (path) => `${path} does not exist`,
  EEXIST: (path, call) => (call === 'mkdir' ? `${path} is a file, not a directory` : `${path} already exists`),
  ENOTDIR: (path) => `${path}: a part of this path is a file, not a directory`,
  EISDIR: (path) => `${path} is a directory, not a file`,
  ELOOP: (path) => `${path}: too many symbolic links; one of them may point to itself`,
  ENAMETOOLONG: (path) => `${path}: the name is too long`,
  ENOSPC: (path) => `${path}: the disk is full; free some space`,
  EDQUOT: (path) => `${path}: the disk quota is used up; free some space`,
  EROFS: (path) => `${path}: the file system is read-only`,
  EMFILE: () => 'too many open files; raise the limit (ulimit -n)',
}

/** @returns the message of an error, in our words where it is one of the system */
export function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const [, code = '', call = '', path] = SYSTEM_ERROR.exec(message) ?? []
  // Without a path there would be nothing to say that the system has not said.
  return (path !== undefined && SENTENCES[code]?.(path, call)) || message
}
