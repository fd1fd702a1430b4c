import { useGraphiQL } from '@graphiql/react';
import { GraphiQL } from 'graphiql';
import { useEffect, useMemo, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';
import '@graphiql/react/style.css';
import '@graphiql/plugin-doc-explorer/style.css';
import '@graphiql/plugin-history/style.css';
import 'graphiql/graphiql.css';
import './playground.css';
import { examples } from './examples.js';
import { createFetcher, credentialKind } from './fetcher.js';
import { storage } from './storage.js';
import { setUpWorkers } from './workers.js';

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const TYPING_PAUSE_MS = 500;

/** Keep a text in the given storage; what equals the default is not kept, so a new default shows. */
function useRemembered(storage, key, initial) {
  const [value, setValue] = useState(() => storage.getItem(key) ?? initial);
  const remember = (text) => {
    setValue(text);
    if (text && text !== initial) storage.setItem(key, text);
    else storage.removeItem(key);
  };
  return [value, remember];
}

/** Follow a value once it has rested; each change would otherwise be one more refused request. */
function useSettled(value) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function Field({ label, note, ...input }) {
  return (
    <label className="field">
      <span>{label}</span>
      <input {...input} autoComplete="off" spellCheck={false}
             onChange={(event) => input.onChange(event.target.value.trim())} />
      {note && <small>{note}</small>}
    </label>
  );
}

/** Empty the response pane of the refusal GraphiQL wrote there, once the schema could be read after all. */
function ForgetRefusal({ refused }) {
  const responseEditor = useGraphiQL((state) => state.responseEditor);
  const before = useRef(refused);
  useEffect(() => {
    if (before.current && !refused) responseEditor?.setValue('');
    before.current = refused;
  }, [refused, responseEditor]);
  return null;
}

function Playground({ config }) {
  const [token, setToken] = useRemembered(sessionStorage, 'vitrine:token', '');
  const [store, setStore] = useRemembered(localStorage, 'vitrine:store', config.store);
  const [schema, setSchema] = useState({ ok: true, text: '' });

  const current = useRef();
  current.current = { token, store };
  const settled = useSettled(`${store} ${token}`);
  const latest = useRef();
  // GraphiQL reads the schema again whenever it is given another fetcher; an older one's late answer is not news.
  const fetcher = useMemo(() => {
    const report = (reading) => latest.current === made && setSchema(reading);
    const made = createFetcher(config.endpoint, () => current.current, report);
    return made;
  }, [config, settled]);
  latest.current = fetcher;

  return (
    <>
      <header className="bar">
        <h1>
          Vitrine <span>GraphQL playground</span>
        </h1>
        <Field id="store" label="Store" value={store} onChange={setStore} pattern={UUID}
               placeholder="UUID, sent as X-Tenant-ID" title="The store's UUID; not needed on the store's own address" />
        <Field id="token" label="Token" type="password" value={token} onChange={setToken} note={credentialKind(token)}
               placeholder="access token or sfk_… key" title="Kept until this tab is closed" />
        <output id="schema-status" className={schema.ok ? '' : 'refused'} title={schema.text}>
          {schema.text}
        </output>
        <a href={config.sdl}>SDL</a>
      </header>
      <GraphiQL fetcher={fetcher} storage={storage} defaultTabs={examples} inputValueDeprecation schemaDescription>
        <GraphiQL.Logo>{' '}</GraphiQL.Logo>
        <ForgetRefusal refused={!schema.ok} />
      </GraphiQL>
    </>
  );
}

const config = JSON.parse(document.getElementById('config').textContent);
setUpWorkers(config.assets);
createRoot(document.getElementById('playground')).render(<Playground config={config} />);
