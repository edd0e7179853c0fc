// Requests to the API of the same server, with errors in words.

/** The path under which a proxy has the service; empty for none. */
export const root = document.body.dataset.root ?? "";

/** What the server, or the way to it, had against a request. */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `The server answered with status ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

const SLEEP = (ms) => new Promise((done) => setTimeout(done, ms));

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `page-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

const LARGE = /[[:,\s-]\d{16,}[\]},\s]/;

/** JSON in which whole numbers beyond 2^53, such as labels that are ids, keep all their digits. */
export function parse(text) {
  if (!LARGE.test(text)) return JSON.parse(text);
  const isLarge = (value) => typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  return JSON.parse(text, (_, value, context) =>
    isLarge(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value,
  );
}

export const toJson = (value) =>
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? JSON.rawJSON(String(part)) : part));

async function once(method, path, body, id) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (id) headers["Idempotency-Key"] = id;
  let response;
  try {
    response = await fetch(root + path, { method, headers, body, cache: "no-store" });
  } catch {
    throw new ApiError(0, { detail: "The server does not answer. The page tries again by itself." });
  }
  let answer = {};
  try {
    answer = parse(await response.text());
  } catch {
    if (response.ok)
      throw new ApiError(response.status, { detail: "The server's response is not JSON." });
  }
  if (response.status === 401) {
    // The key was revoked or the session is over: only a new login helps.
    location.assign(`${root}/login?next=${encodeURIComponent(location.pathname.slice(root.length))}`);
  }
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

export const get = (path) => once("GET", path);

/** A read that needs a body: nothing changes, so it has no request id. */
export const query = (path, body = {}) => once("POST", path, toJson(body));

/** A change. It carries a request id, so sending it again after a lost answer is safe. */
export async function send(path, body = {}) {
  const id = newId();
  const text = typeof body === "string" ? body : toJson(body);
  for (let attempt = 0; ; attempt++) {
    try {
      return await once("POST", path, text, id);
    } catch (error) {
      const isLost = error.status === 0 || (error.status === 503 && error.problem.error === "UnavailableError");
      if (!isLost || attempt === 3) throw error;
      await SLEEP(300 * 2 ** attempt);
    }
  }
}

export const campaignPath = (name, rest = "") => `/v1/campaigns/${encodeURIComponent(name)}${rest}`;
