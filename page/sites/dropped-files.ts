/** The files that were dropped or chosen, with their paths below what was. */

export type PathedFile = { path: string; file: File }

/** @param input of files, or of a folder, which it is then ready to take again */
export function folderFiles(input: HTMLInputElement): PathedFile[] {
  const files = [...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
  input.value = ''
  return belowTop(files)
}

/** Folders are read to their end; the names have to be asked for before anything is awaited. */
export async function droppedFiles(dropped: DataTransfer): Promise<PathedFile[]> {
  const entries = [...dropped.items].flatMap((item) => item.webkitGetAsEntry() ?? [])
  return belowTop((await Promise.all(entries.map(filesIn))).flat())
}

async function filesIn(entry: FileSystemEntry): Promise<PathedFile[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject))
    return [{ path: entry.fullPath.replace(/^\//, ''), file }]
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader()
  const all: PathedFile[] = []
  // A reader gives a hundred at a time, and none at its end.
  for (;;) {
    const entries = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (entries.length === 0) return all
    for (const child of entries) all.push(...(await filesIn(child)))
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile

/** Without what every system leaves in folders, and without the folder itself, if all is in one. */
function belowTop(files: readonly PathedFile[]): PathedFile[] {
  const kept = files.filter(({ path }) => !/(^|\/)(\.DS_Store|Thumbs\.db)$/.test(path))
  const tops = new Set(kept.map(({ path }) => path.slice(0, path.indexOf('/') + 1)))
  const [top = ''] = tops
  return tops.size === 1 ? kept.map(({ path, file }) => ({ path: path.slice(top.length), file })) : kept
}
