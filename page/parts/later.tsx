/** Views whose script is loaded when they are opened. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Problem } from '../api/problem.ts'
import { Loading } from './loading.tsx'
import { Trouble } from './trouble.tsx'

/** @param load imports the view */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let View: ComponentType<Props> | undefined
  return function Later(props: Props) {
    const [isFailed, setFailed] = useState(false)
    const [, setLoaded] = useState(View !== undefined)
    const start = () => {
      setFailed(false)
      load().then(
        (loaded) => {
          View = loaded
          setLoaded(true)
        },
        () => setFailed(true),
      )
    }
    useEffect(() => {
      if (!View) start()
    }, [])
    if (View) return <View {...props} />
    // A new version of the panel has other files: reloading the page finds them.
    if (isFailed) return <Trouble thrown={new Problem('unreachable', '')} onRetry={() => location.reload()} />
    return <Loading />
  }
}
