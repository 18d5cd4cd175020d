// Where one is: the part of the address behind `#`, so that reloading and links work.
//
//   #/databases
//   #/databases/NAME/documents?collection=NAME&id=ID
//   #/databases/NAME/query?text=RQL
//   #/databases/NAME/indexes?index=NAME

import { useSyncExternalStore } from "react";

export type Route =
  | { readonly room: "databases" }
  | {
      readonly room: "documents";
      readonly database: string;
      /** `null` is all documents. */
      readonly collection: string | null;
      /** The document that is open beside the list. */
      readonly id: string | null;
    }
  | { readonly room: "query"; readonly database: string; readonly text: string | null }
  | {
      readonly room: "indexes";
      readonly database: string;
      /** The index that is open beside the list. */
      readonly index: string | null;
    };

export function href(route: Route): string {
  if (route.room === "databases") {
    return "#/databases";
  }
  const base = `#/databases/${encoded(route.database)}/${route.room}`;
  const pairs = Object.entries(parametersOf(route)).filter(([, value]) => value !== null);
  const search = pairs.map(([name, value]) => `${name}=${encoded(value ?? "")}`).join("&");
  return search === "" ? base : `${base}?${search}`;
}

function parametersOf(route: Exclude<Route, { room: "databases" }>): Record<string, string | null> {
  switch (route.room) {
    case "documents":
      return { collection: route.collection, id: route.id };
    case "query":
      return { text: route.text };
    case "indexes":
      return { index: route.index };
  }
}

/** Goes there; with `replace` the present place is not kept in the browser's history. */
export function navigate(route: Route, replace = false): void {
  if (replace) {
    window.location.replace(href(route));
  } else {
    window.location.hash = href(route);
  }
}

export function parseRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [first, name, room] = path.split("/").map(decode);
  if (first !== "databases" || name === undefined || name === "") {
    return { room: "databases" };
  }
  const given = new URLSearchParams(search.replaceAll("+", "%2B"));
  if (room === "query") {
    return { room: "query", database: name, text: given.get("text") };
  }
  if (room === "indexes") {
    return { room: "indexes", database: name, index: given.get("index") };
  }
  const collection = given.get("collection");
  return { room: "documents", database: name, collection, id: given.get("id") };
}

export function useRoute(): Route {
  return parseRoute(useSyncExternalStore(subscribe, () => here));
}

/** The address that is shown. Behind that of the browser while a guard is asked. */
let here = window.location.hash;
/** Asked before another address is shown, with what it would be. */
let guard: ((there: string) => void) | null = null;
const listeners = new Set<() => void>();

window.addEventListener("hashchange", () => {
  const there = window.location.hash;
  if (there !== here && guard !== null) {
    window.history.pushState(null, "", here === "" ? "#" : here);
    guard(there);
    return;
  }
  here = there;
  listeners.forEach((listener) => listener());
});

/** Sets what is asked before one leaves; `null` lets everyone go. */
export function setGuard(asked: ((there: string) => void) | null): void {
  guard = asked;
}

function subscribe(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

/** Ids may hold halves of characters, which have no form in an address. */
export function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
