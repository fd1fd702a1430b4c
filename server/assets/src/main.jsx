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
import { createFetcher, credentialType } from './fetcher.js';
import { storage } from './storage.js';
import { setUpWorkers } from './workers.js';

const UUID = '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
const TYPING_PAUSE_MS = 500;

/** State persisted in a storage; a value equal to the default is not stored, so that a new default applies. */
function useStored(storage, key, initial) {
  const [value, setValue] = useState(() => storage.getItem(key) ?? initial);
  const store = (text) => {
    setValue(text);
    if (text && text !== initial) storage.setItem(key, text);
    else storage.removeItem(key);
  };
  return [value, store];
}

/** Debounce a value, to avoid a failing request per keystroke. */
function useDebounced(value) {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return debounced;
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

/** Clear GraphiQL's error from the response pane once the schema was loaded. */
function ClearError({ failed }) {
  const responseEditor = useGraphiQL((state) => state.responseEditor);
  const previous = useRef(failed);
  useEffect(() => {
    if (previous.current && !failed) responseEditor?.setValue('');
    previous.current = failed;
  }, [failed, responseEditor]);
  return null;
}

function Playground({ config }) {
  const [token, setToken] = useStored(sessionStorage, 'vitrine:token', config.token);
  const [store, setStore] = useStored(localStorage, 'vitrine:store', config.store);
  const [schema, setSchema] = useState({ ok: true, text: '' });

  const current = useRef();
  current.current = { token, store };
  const debounced = useDebounced(`${store} ${token}`);
  const latest = useRef();
  // GraphiQL reloads the schema for every new fetcher; ignore late responses of older ones.
  const fetcher = useMemo(() => {
    const report = (result) => latest.current === created && setSchema(result);
    const created = createFetcher(config, () => current.current, report);
    return created;
  }, [config, debounced]);
  latest.current = fetcher;

  return (
    <>
      <header className="bar">
        <h1>
          Vitrine <span>GraphQL playground</span>
        </h1>
        <Field id="store" label="Store" value={store} onChange={setStore} pattern={UUID} required={config.needsStore}
               placeholder="UUID, sent as X-Tenant-ID" title="The store's UUID; not needed on the store's own address" />
        <Field id="token" label="Token" type="password" value={token} onChange={setToken} note={credentialType(token)}
               placeholder="access token or sfk_… key" title="Stored until this tab is closed" />
        <output id="schema-status" className={schema.ok ? '' : 'error'} title={schema.text}>
          {schema.text}
        </output>
        <a href={config.sdl}>SDL</a>
      </header>
      <main>
        <GraphiQL fetcher={fetcher} storage={storage} defaultTabs={examples} inputValueDeprecation schemaDescription>
          <GraphiQL.Logo>{' '}</GraphiQL.Logo>
          <ClearError failed={!schema.ok} />
        </GraphiQL>
      </main>
    </>
  );
}

const config = JSON.parse(document.getElementById('config').textContent);
setUpWorkers(config.assets);
createRoot(document.getElementById('playground')).render(<Playground config={config} />);
