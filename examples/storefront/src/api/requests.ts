// Typed requests, and the hook with which pages read.

import type { DocumentTypeDecoration } from "@graphql-typed-document-node/core";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { client } from "./client";
import { Refusal, refusalOf } from "./errors";
import { isSignedIn } from "./session";

export type Document<Data, Variables> = DocumentTypeDecoration<Data, Variables> & { toString(): string };

/** Execute an operation; throws a `Refusal`. A read answers with what the caller may see, unless nothing is left. */
export async function request<Data, Variables>(
  document: Document<Data, Variables>,
  variables: Variables,
  idempotencyKey?: string,
): Promise<Data> {
  const text = String(document);
  const options = idempotencyKey ? { fetchOptions: { headers: { "Idempotency-Key": idempotencyKey } } } : {};
  const isMutation = /^\s*mutation\b/.test(text);
  const source = isMutation ? client.mutation(text, variables as object, options) : client.query(text, variables as object);
  const { data, error } = await source.toPromise();
  const isAnswered = data && Object.values(data).some((value) => value !== null);
  if (error && (isMutation || !isAnswered)) throw refusalOf(error);
  return data as Data;
}

export interface Read<Data> {
  data?: Data;
  refusal?: Refusal;
  isLoading: boolean;
  reload: () => Promise<void>;
}

/** Read for a page, and again when the variables or the customer change; null variables wait. Old data stays until new arrives. */
export function useRead<Data, Variables>(document: Document<Data, Variables>, variables: Variables | null): Read<Data> {
  const [state, setState] = useState<Omit<Read<Data>, "reload">>({ isLoading: true });
  const key = variables && JSON.stringify([variables, isSignedIn.value]);
  const latest = useRef<string | null>(null);
  const running = useRef<{ key: string; reading: Promise<unknown> } | null>(null);
  const load = useCallback(async () => {
    latest.current = key;
    if (key === null) return;
    setState((state) => ({ ...state, isLoading: true }));
    // A read that is on its way may be from before a change, and the client would share its answer.
    const before = running.current?.key === key ? running.current.reading : undefined;
    const reading = Promise.resolve(before).then(() => request(document, variables as Variables)).then(
      (data) => ({ data }),
      (refusal: Refusal) => ({ refusal }),
    );
    running.current = { key, reading };
    const answer = await reading;
    if (latest.current === key) setState({ ...answer, isLoading: running.current.reading !== reading });
  }, [key]);
  useEffect(() => {
    void load();
    return () => {
      latest.current = null;
    };
  }, [load]);
  return { ...state, reload: load };
}
