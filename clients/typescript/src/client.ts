// The client of a store.
import {
  type AppBody,
  type AppClient,
  AppTokens,
  appTokens,
  clientBody,
  type OnRenewed,
  type SessionBody,
  sessionTokens,
  UserSession,
} from "./credentials.js";
import { EventFeed, type FeedEvent, type FeedOptions } from "./events.js";
import { Family } from "./families.js";
import type { paths as AppsPaths } from "./generated/apps.js";
import type { paths as CurrentPaths } from "./generated/current.js";
import type { paths as LegacyPaths } from "./generated/legacy.js";
import { type Connection, type Document, execute, type ExecutionOptions, nodes } from "./graphql.js";
import { subscribe, type SubscriptionOptions } from "./subscriptions.js";
import {
  type Credential,
  NoCredential,
  Transport,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from "./transport.js";

export interface VitrineOptions extends TransportOptions {
  readonly credential?: Credential | undefined;
  /** The function `print` of graphql, for documents that are ASTs without their text. */
  readonly print?: ExecutionOptions["print"];
}

/** A store at a URL, with a credential. */
export class Vitrine {
  readonly transport: Transport;
  readonly current: Family<CurrentPaths>;
  readonly apps: Family<AppsPaths>;
  readonly legacy: Family<LegacyPaths>;

  constructor(private readonly options: VitrineOptions) {
    this.transport = new Transport(options, options.credential ?? new NoCredential());
    this.current = new Family(this.transport);
    this.apps = new Family(this.transport);
    this.legacy = new Family(this.transport, 250);
  }

  /** Return a client of the same store with another credential. */
  withCredential(credential: Credential): Vitrine {
    return new Vitrine({ ...this.options, credential });
  }

  /** Send any request; throw `ApiError` or `ConnectionFailed`. */
  request(request: TransportRequest): Promise<TransportResponse> {
    return this.transport.send(request);
  }

  /**
   * Return the data of a document; throw `GraphqlError`, which holds the data of a partial result.
   *
   * Queries are repeated, and so are documents with one mutation, which get an Idempotency-Key, except those that return a secret.
   */
  graphql<Result = Record<string, unknown>, Variables = Record<string, unknown>>(
    document: Document<Result, Variables>,
    ...[variables, options]: Record<string, never> extends Variables
      ? [variables?: Variables, options?: ExecutionOptions]
      : [variables: Variables, options?: ExecutionOptions]
  ): Promise<Result> {
    return execute(this.transport, document, variables as Variables, { print: this.options.print, ...options });
  }

  /**
   * Iterate over the nodes of a connection, page by page. The document passes `$after` to it and selects its `edges { node }` and
   * `page_info { has_next_page end_cursor }`; `select` finds it in the data.
   */
  nodes<Result, Variables extends object, Node>(
    document: Document<Result, Variables>,
    variables: Variables,
    select: (data: Result) => Connection<Node> | null | undefined,
    options?: ExecutionOptions,
  ): AsyncGenerator<Node, void, undefined> {
    return nodes(this.transport, document, variables, select, { print: this.options.print, ...options });
  }

  /**
   * Iterate over the events after a cursor without end, each once and in order.
   *
   * Store `event.cursor` with the effect of the event, and begin there the next time. An app follows a stream, and asks for pages every
   * `pollSeconds` where streams don't pass; other callers read pages of `/graphql`. Outages are waited for. Errors that waiting doesn't
   * change are thrown: 410 (`details.oldest_cursor`), a wrong cursor, a missing scope.
   */
  events(options: FeedOptions = {}): AsyncGenerator<FeedEvent, void, undefined> {
    return new EventFeed(this.transport, options).follow();
  }

  /**
   * Iterate over the results of a subscription to events without end, each once and in order, over Server-Sent Events.
   *
   * The document passes `$after` to `events` and selects its `cursor`: with these the iteration continues after interruptions, as `events` does,
   * and after a restart with `after` of the last one. A result with errors is thrown as `GraphqlError`.
   */
  subscribe<Result = Record<string, unknown>, Variables extends object = Record<string, unknown>>(
    document: Document<Result, Variables>,
    variables?: Variables,
    options?: SubscriptionOptions,
  ): AsyncGenerator<Result, void, undefined> {
    return subscribe(this.transport, document, variables ?? ({} as Variables), { print: this.options.print, ...options });
  }

  /** Sign a user in by e-mail address, CPF, CNPJ or phone; the result is a challenge where the account has a second factor. */
  async signIn(identifier: string, password: string, onRenewed?: OnRenewed): Promise<UserSession | TwoFactorChallenge> {
    const answer = (await this.post("/api/v1/auth/login", { identifier, password })) as SessionBody & { temp_token?: string };
    if (answer.temp_token !== undefined) return new TwoFactorChallenge(this, answer.temp_token, onRenewed);
    return new UserSession(sessionTokens(answer), onRenewed);
  }

  /** Complete a sign-in; see `TwoFactorChallenge`. */
  async verifyTwoFactor(tempToken: string, code: string, onRenewed?: OnRenewed): Promise<UserSession> {
    const answer = await this.post("/api/v1/auth/verify-2fa", { temp_token: tempToken, code });
    return new UserSession(sessionTokens(answer as SessionBody), onRenewed);
  }

  /** End a session. */
  async signOut(session: UserSession): Promise<void> {
    await this.post("/api/v1/auth/logout", { refresh_token: session.tokens.refreshToken }, true);
  }

  /** Exchange the authorization code of an approval for an app's tokens; `codeVerifier` is that of PKCE. */
  async exchangeCode(
    code: string,
    { redirectUri, codeVerifier, onRenewed, ...client }: AppClient & { redirectUri?: string; codeVerifier?: string; onRenewed?: OnRenewed },
  ): Promise<AppTokens> {
    const grant = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: codeVerifier };
    const answer = await this.post("/api/v1/oauth/token", { ...grant, ...clientBody(client) });
    return new AppTokens(appTokens(answer as AppBody), client, onRenewed);
  }

  private async post(path: string, body: object, isRepeatable = false): Promise<unknown> {
    const anonymous = this.transport.withCredential(new NoCredential());
    return (await anonymous.send({ method: "POST", path, body, isRepeatable, attempts: isRepeatable ? undefined : 1 })).body;
  }
}

/** A sign-in that waits for a code of the authenticator app or a recovery code: five tries within five minutes. */
export class TwoFactorChallenge {
  constructor(
    private readonly client: Vitrine,
    readonly tempToken: string,
    private readonly onRenewed?: OnRenewed,
  ) {}

  /** Complete the sign-in. */
  verify(code: string): Promise<UserSession> {
    return this.client.verifyTwoFactor(this.tempToken, code, this.onRenewed);
  }
}
