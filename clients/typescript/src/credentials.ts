// The credentials of a store (docs/reference/current.md#credentials).
//
// Refresh tokens are single use, so one renewal serves all requests that wait for it, and `onRenewed` is awaited with the new pair
// before it is used: what it stores survives the process.
import { ApiError, ConnectionFailed } from "./errors.js";
import { type Credential, type HeaderValues, NoCredential, type Transport } from "./transport.js";

const MARGIN_SECONDS = 60;
// A token is used at least this long, whatever the local clock makes of its expiry.
const SHORTEST_USE_SECONDS = 30;

/** A token pair; `expiresAt` are the Unix seconds at which the access token expires, undefined for unknown. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt?: number | undefined;
}

export type OnRenewed = (tokens: Tokens) => Promise<void> | void;

/** The e-mail address and API key of a user of the legacy API. */
export class ApiKey extends NoCredential {
  constructor(
    private readonly email: string,
    private readonly key: string,
  ) {
    super();
  }

  override async headers(): Promise<HeaderValues> {
    const bytes = new TextEncoder().encode(`${this.email}:${this.key}`);
    return { Authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
  }
}

/** An access token that is renewed shortly before it expires, and when the server refuses it. */
abstract class RenewedToken implements Credential {
  private usedSince = -Infinity; // it may be an old pair from storage
  private renewal: Promise<void> | undefined;
  private refusal: ApiError | undefined;

  constructor(
    public tokens: Tokens,
    private readonly onRenewed?: OnRenewed,
  ) {}

  /** Exchange the refresh token. */
  protected abstract requestTokens(transport: Transport): Promise<Tokens>;

  async headers(transport: Transport): Promise<HeaderValues> {
    if (this.expiresWithin(MARGIN_SECONDS) && performance.now() / 1000 - this.usedSince >= SHORTEST_USE_SECONDS) {
      try {
        await this.shareRenewal(transport);
      } catch (error) {
        const isPassing = error instanceof ConnectionFailed || (error instanceof ApiError && error.isPassing);
        if (!isPassing || this.expiresWithin(0)) throw error;
      }
    }
    return { Authorization: `Bearer ${this.tokens.accessToken}` };
  }

  async renew(transport: Transport, refused: HeaderValues): Promise<boolean> {
    // Another request may have renewed it since this one was sent.
    if (refused["Authorization"] === `Bearer ${this.tokens.accessToken}`) await this.shareRenewal(transport);
    return true;
  }

  private expiresWithin(seconds: number): boolean {
    return this.tokens.expiresAt !== undefined && Date.now() / 1000 + seconds >= this.tokens.expiresAt;
  }

  private shareRenewal(transport: Transport): Promise<void> {
    if (this.refusal) throw this.refusal;
    this.renewal ??= this.exchange(transport.withCredential(new NoCredential())).finally(() => (this.renewal = undefined));
    return this.renewal;
  }

  private async exchange(transport: Transport): Promise<void> {
    let tokens: Tokens;
    try {
      tokens = await this.requestTokens(transport);
    } catch (error) {
      // The session has ended: asking again only counts as failed attempts.
      if (error instanceof ApiError && [400, 401, 403].includes(error.status)) this.refusal = error;
      throw error;
    }
    await this.onRenewed?.(tokens);
    this.tokens = tokens;
    this.usedSince = performance.now() / 1000;
  }
}

/** The session of a user who signed in. */
export class UserSession extends RenewedToken {
  protected override async requestTokens(transport: Transport): Promise<Tokens> {
    const body = { refresh_token: this.tokens.refreshToken };
    // Sent twice within ten seconds, a refresh token is refused the second time and does no harm.
    const request = { method: "POST", path: "/api/v1/auth/refresh", body, isRepeatable: true, attempts: 3 };
    return sessionTokens((await transport.send(request)).body as SessionBody);
  }
}

/** A storefront key, and optionally the session of the customer who shops. */
export class StorefrontKey implements Credential {
  constructor(
    private readonly key: string,
    private readonly customer?: UserSession,
  ) {}

  async headers(transport: Transport): Promise<HeaderValues> {
    return { "X-API-Key": this.key, ...(await this.customer?.headers(transport)) };
  }

  async renew(transport: Transport, refused: HeaderValues): Promise<boolean> {
    return this.customer !== undefined && this.customer.renew(transport, refused);
  }
}

export interface AppClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The OAuth tokens of an app that a store installed. */
export class AppTokens extends RenewedToken {
  constructor(
    tokens: Tokens,
    private readonly client: AppClient,
    onRenewed?: OnRenewed,
  ) {
    super(tokens, onRenewed);
  }

  protected override async requestTokens(transport: Transport): Promise<Tokens> {
    // Not repeated when the response is lost: reuse of a spent refresh token revokes all tokens of the installation.
    const grant = { grant_type: "refresh_token", refresh_token: this.tokens.refreshToken };
    const request = { method: "POST", path: "/api/v1/oauth/token", body: { ...grant, ...clientBody(this.client) } };
    return appTokens((await transport.send(request)).body as AppBody);
  }

  /** Revoke the tokens of this approval. */
  async revoke(transport: Transport): Promise<void> {
    const body = { token: this.tokens.refreshToken, ...clientBody(this.client) };
    const anonymous = transport.withCredential(new NoCredential());
    await anonymous.send({ method: "POST", path: "/api/v1/oauth/revoke", body, isRepeatable: true });
  }
}

export function clientBody({ clientId, clientSecret }: AppClient): { client_id: string; client_secret: string } {
  return { client_id: clientId, client_secret: clientSecret };
}

export interface SessionBody {
  access_token: string;
  refresh_token: string;
  expires_at: string;
}

export interface AppBody {
  access_token: string;
  refresh_token: string;
  expires_in: number;
}

export function sessionTokens(body: SessionBody): Tokens {
  return { accessToken: body.access_token, refreshToken: body.refresh_token, expiresAt: Date.parse(body.expires_at) / 1000 };
}

export function appTokens(body: AppBody): Tokens {
  return { accessToken: body.access_token, refreshToken: body.refresh_token, expiresAt: Date.now() / 1000 + body.expires_in };
}
