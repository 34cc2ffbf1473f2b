/** Changes a site, switches it off and on, deletes it. */
import { useState } from 'preact/hooks'
import { api, dataOf, done } from '../api/client.ts'
import { isProblem } from '../api/problem.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Field } from '../parts/field.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Note } from '../parts/note.tsx'
import { entriesOf, TextArea } from '../parts/text-area.tsx'
import { Trouble } from '../parts/trouble.tsx'
import { words } from '../words/words.ts'
import { displayDomain } from './domain.ts'
import { KindFields, kindOf } from './kind-fields.tsx'
import type { Site } from './status.tsx'
import { readSite, refreshSite, useDeployments, useSite } from './use-site.ts'

export function SiteSettings({ site }: { site: Site }) {
  if (site.status === 'deleting') return <Note tone="warn" title={words.siteSettings.deleting} />
  return (
    <div class="stack">
      <Change site={site} key={site.id} />
      <Switch site={site} />
      <Delete site={site} />
    </div>
  )
}

type Change = { field: string; value: string }

/** What a person would see as different between two versions of a site. */
function differences(before: Site, now: Site): Change[] {
  const { siteSettings, sites, kindFields, newSite } = words
  const told = (site: Site): Record<string, string> => ({
    [sites.domain]: displayDomain(site.domain),
    [newSite.aliases]: site.aliases.map(displayDomain).join(', ') || siteSettings.none,
    [sites.kind]: site.kind === 'php' ? `${sites.kinds.php} ${site.php_version ?? ''}` : sites.kinds.static,
    [kindFields.spa]: site.spa ? siteSettings.yes : siteSettings.no,
    [kindFields.publicDir]: site.public_dir ?? siteSettings.none,
    [siteSettings.served]: site.enabled ? siteSettings.yes : siteSettings.no,
  })
  const earlier = told(before)
  return Object.entries(told(now)).flatMap(([field, value]) => (earlier[field] === value ? [] : [{ field, value }]))
}

/** The form keeps the version that it was opened with: a change that came in between is shown, and never overwritten. */
function Change({ site }: { site: Site }) {
  const { siteSettings, newSite } = words
  const latest = useSite(site.id).data
  const [base, setBase] = useState(latest)
  const [changed, setChanged] = useState<Change[]>()
  const [isSaved, setSaved] = useState(false)

  async function submit(values: Values) {
    setSaved(false)
    const { domain = '', aliases } = values
    const body = { domain: domain.trim(), aliases: entriesOf(aliases), ...kindOf(values) }
    const params = { path: { id: site.id }, header: { 'If-Match': base?.etag ?? '' } }
    try {
      await dataOf(api.PATCH('/api/v1/sites/{id}', { params, body }))
    } catch (thrown) {
      if (!isProblem(thrown) || thrown.status !== 412) throw thrown
      const now = await readSite(site.id)
      // What the node reports makes another version, too, but nothing that this form could overwrite.
      const changes = differences(base?.value ?? site, now.value)
      setBase(now)
      if (changes.length > 0) {
        setChanged(changes)
        throw thrown
      }
      await dataOf(api.PATCH('/api/v1/sites/{id}', { params: { ...params, header: { 'If-Match': now.etag } }, body }))
    }
    setChanged(undefined)
    setBase(await readSite(site.id))
    setSaved(true)
    await refreshSite(site.id)
  }

  return (
    <section class="card pad form-card" aria-labelledby="change">
      <h2 id="change">{words.site.settings}</h2>
      {changed && (
        <Note tone="warn" title={siteSettings.changedElsewhere}>
          <ul>
            {changed.map(({ field, value }) => (
              <li key={field}>{siteSettings.isNow(field, value)}</li>
            ))}
          </ul>
        </Note>
      )}
      {isSaved && <Note tone="ok" title={siteSettings.saved} />}
      <Form submit={words.common.save} onSubmit={submit}>
        <Field name="domain" label={words.sites.domain} defaultValue={displayDomain(site.domain)} inputMode="url" />
        <TextArea
          name="aliases"
          label={newSite.aliases}
          hint={newSite.aliasesHint}
          defaultValue={site.aliases.map(displayDomain).join('\n')}
        />
        <KindFields site={site} />
      </Form>
    </section>
  )
}

function Switch({ site }: { site: Site }) {
  const { siteSettings } = words
  const [thrown, setThrown] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)

  async function change() {
    setBusy(true)
    try {
      const body = { enabled: !site.enabled }
      await dataOf(api.PATCH('/api/v1/sites/{id}', { params: { path: { id: site.id } }, body }))
      setThrown(undefined)
      await refreshSite(site.id)
    } catch (error) {
      setThrown(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <section class="card pad row" aria-labelledby="switch">
      <div class="grow">
        <h2 id="switch">{site.enabled ? siteSettings.on : siteSettings.off}</h2>
        <p class="mute">{site.enabled ? siteSettings.onHint : siteSettings.offHint}</p>
        {thrown !== undefined && <Trouble thrown={thrown} />}
      </div>
      <button type="button" class="btn" disabled={isBusy} onClick={change}>
        {site.enabled ? siteSettings.switchOff : siteSettings.switchOn}
      </button>
    </section>
  )
}

function Delete({ site }: { site: Site }) {
  const { siteSettings } = words
  const [isOpen, setOpen] = useState(false)
  const name = displayDomain(site.domain)
  const count = useDeployments(site.id).data?.items.length ?? 0
  return (
    <section class="card pad row" aria-labelledby="delete">
      <div class="grow">
        <h2 id="delete">{siteSettings.delete}</h2>
        <p class="mute">{siteSettings.deleteHint}</p>
      </div>
      <button type="button" class="btn bad" onClick={() => setOpen(true)}>
        {siteSettings.delete}
      </button>
      {isOpen && (
        <Confirm
          title={siteSettings.deleteTitle(name)}
          typed={name}
          submit={siteSettings.delete}
          onClose={() => setOpen(false)}
          onConfirm={async () => {
            await done(api.DELETE('/api/v1/sites/{id}', { params: { path: { id: site.id } } }))
            setOpen(false)
            await refreshSite(site.id)
          }}
        >
          <p>{siteSettings.goes}</p>
          <ul class="bullets">
            {[site.domain, ...site.aliases].map((domain) => (
              <li key={domain} class="domain">
                {displayDomain(domain)}
              </li>
            ))}
            <li>{siteSettings.goesFiles(count)}</li>
          </ul>
        </Confirm>
      )}
    </section>
  )
}
