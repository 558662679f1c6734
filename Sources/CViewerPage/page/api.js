// Calls of the HTTP API.

import { parse, stringify } from "./json.js";

export class APIError extends Error {
  constructor(status, code, message, body) {
    super(message);
    Object.assign(this, { status, code, body, advice: body?.error?.advice });
  }
}

async function read(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const body = type.includes("json") ? parse(await response.text()) : null;
  if (response.ok) return body;
  const error = body?.error ?? {};
  throw new APIError(response.status, error.code ?? "", error.message ?? `the server answered ${response.status}`, body);
}

function failed(error) {
  if (error instanceof APIError || error.name === "AbortError") throw error;
  throw new APIError(0, "offline", "The program that serves this page does not respond. It may have ended.");
}

/** Sends a GET request. Parameters that are undefined, null or empty are omitted. */
export function get(path, parameters = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of [value].flat()) query.append(name, one);
  }
  const text = query.toString();
  return fetch(`/api/${path}${text ? "?" + text : ""}`, { signal }).then(read).catch(failed);
}

export function post(path, body) {
  return fetch(`/api/${path}`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: stringify(body),
  }).then(read).catch(failed);
}

export function imageURL(number, at) {
  return `/api/images/${number}/content${at ? `?at=r${at}` : ""}`;
}
