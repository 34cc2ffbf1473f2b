/** What a site is made of: files alone, or PHP. */
import { useState } from 'preact/hooks'
import { Field } from '../parts/field.tsx'
import type { Values } from '../parts/form.tsx'
import { Check, Pick } from '../parts/pick.tsx'
import { words } from '../words/words.ts'
import type { Site } from './status.tsx'

type Kind = 'static' | 'php'

/** @param site what it is now; absent for a new one */
export function KindFields({ site }: { site?: Site }) {
  const [kind, setKind] = useState(site?.kind ?? 'static')
  const { kindFields, sites } = words
  return (
    <>
      <Pick
        name="kind"
        label={sites.kind}
        value={kind}
        onChange={setKind}
        options={[
          { value: 'static', label: kindFields.static },
          { value: 'php', label: kindFields.php },
        ]}
      />
      {kind === 'php' ? (
        <Field
          name="php_version"
          label={kindFields.phpVersion}
          hint={kindFields.phpVersionHint}
          placeholder="8.2"
          defaultValue={site?.php_version ?? ''}
          maxLength={8}
        />
      ) : (
        <Check name="spa" label={kindFields.spa} hint={kindFields.spaHint} defaultChecked={site?.spa ?? false} />
      )}
      <Field
        name="public_dir"
        label={kindFields.publicDir}
        hint={kindFields.publicDirHint}
        placeholder="public"
        defaultValue={site?.public_dir ?? ''}
      />
    </>
  )
}

/** The fields as the API takes them. */
export function kindOf({ kind, php_version, spa, public_dir }: Values) {
  return {
    kind: (kind === 'php' ? 'php' : 'static') as Kind,
    php_version: kind === 'php' && php_version?.trim() ? php_version.trim() : null,
    spa: kind !== 'php' && spa !== undefined,
    public_dir: public_dir?.trim() ? public_dir.trim() : null,
  }
}
