/** Takes an archive or a folder, dropped or chosen, and deploys it to a site. */
import { useRef, useState } from 'preact/hooks'
import { newIdempotencyKey } from '../api/client.ts'
import { upload } from '../api/upload.ts'
import { Icon } from '../parts/icon.tsx'
import { Note } from '../parts/note.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { formatBytes } from '../words/format.ts'
import { words } from '../words/words.ts'
import { droppedFiles, folderFiles, type PathedFile } from './dropped-files.ts'
import type { Site } from './status.tsx'
import { pack } from './tar.ts'
import { type Deployment, refreshSite, useDeployments } from './use-site.ts'

type State =
  | { kind: 'waiting' }
  | { kind: 'sending'; part: number; bytes: number; abort(): void }
  | { kind: 'failed'; thrown: unknown }
  | { kind: 'unfit' }
  | { kind: 'sent'; number: number }

const isArchive = (name: string) => /\.(tar|tar\.gz|tgz|zip)$/i.test(name)

export function Deploy({ site, title }: { site: Site; title: string }) {
  const [state, setState] = useState<State>({ kind: 'waiting' })
  const [isOver, setOver] = useState(false)
  const archive = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const { deployments } = words

  async function send(body: Blob) {
    const controller = new AbortController()
    const abort = () => controller.abort()
    const onProgress = (part: number) => setState({ kind: 'sending', part, bytes: body.size, abort })
    onProgress(0)
    try {
      const path = `/api/v1/sites/${site.id}/deployments`
      const { number } = await upload<Deployment>({
        path,
        body,
        idempotencyKey: newIdempotencyKey(),
        onProgress,
        signal: controller.signal,
      })
      setState({ kind: 'sent', number })
      await refreshSite(site.id)
    } catch (thrown) {
      setState(controller.signal.aborted ? { kind: 'waiting' } : { kind: 'failed', thrown })
    }
  }

  /** One archive as it is; anything else is packed here. */
  async function take(files: readonly PathedFile[]) {
    const [only] = files
    if (only && files.length === 1 && isArchive(only.path)) return send(only.file)
    // One file that is no page is more likely an archive of another kind than a site.
    if (files.length === 0 || (files.length === 1 && !/\.html?$/i.test(only?.path ?? ''))) {
      setState({ kind: 'unfit' })
      return
    }
    await send(await pack(files))
  }

  async function drop(event: DragEvent) {
    event.preventDefault()
    setOver(false)
    if (event.dataTransfer) await take(await droppedFiles(event.dataTransfer))
  }

  const isSending = state.kind === 'sending'
  return (
    <section
      class={`card pad drop ${isOver ? 'over' : ''}`}
      aria-label={title}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <Icon name="upload" />
      <h2>{title}</h2>
      <p class="mute">{deployments.dropHint}</p>
      {isSending ? (
        <div class="progress">
          <progress value={state.part} aria-label={deployments.sending} />
          <p class="small num">{deployments.sent(Math.round(state.part * 100), formatBytes(state.bytes))}</p>
          <button type="button" class="btn" onClick={state.abort}>
            {words.common.cancel}
          </button>
        </div>
      ) : (
        <div class="actions">
          <button type="button" class="btn primary" onClick={() => archive.current?.click()}>
            {deployments.chooseArchive}
          </button>
          <button type="button" class="btn" onClick={() => folder.current?.click()}>
            {deployments.chooseFolder}
          </button>
        </div>
      )}
      <input
        ref={archive}
        type="file"
        hidden
        accept=".tar,.gz,.tgz,.zip,application/gzip,application/x-tar,application/zip"
        aria-label={deployments.chooseArchive}
        onChange={({ currentTarget }) => take(folderFiles(currentTarget))}
      />
      <input
        ref={(input) => {
          folder.current = input
          if (input) input.webkitdirectory = true
        }}
        type="file"
        hidden
        multiple
        aria-label={deployments.chooseFolder}
        onChange={({ currentTarget }) => take(folderFiles(currentTarget))}
      />
      {state.kind === 'failed' && <Trouble thrown={state.thrown} />}
      {state.kind === 'unfit' && <Note tone="bad" title={deployments.unfit} />}
      {state.kind === 'sent' && <Outcome site={site} number={state.number} />}
    </section>
  )
}

/** What has become of an upload, as its node reports it. */
function Outcome({ site, number }: { site: Site; number: number }) {
  const { deployments } = words
  const deployment = useDeployments(site.id).data?.items.find((one) => one.number === number)
  if (deployment?.failure) {
    return (
      <Note tone="bad" title={deployments.refused(number)}>
        <p>{deployment.failure.message}</p>
      </Note>
    )
  }
  const isServed = deployment?.status === 'active'
  return <Note tone="ok" title={isServed ? deployments.isServed(number) : deployments.arrived(number)} />
}
