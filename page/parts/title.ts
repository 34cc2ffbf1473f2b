/** The title of the document, and where the focus goes when a view opens. */
import { useEffect } from 'preact/hooks'

/** Names the view in the title of the tab. */
export function useTitle(title: string | undefined): void {
  useEffect(() => {
    document.title = title === undefined ? 'ncp' : `${title} · ncp`
  }, [title])
}
